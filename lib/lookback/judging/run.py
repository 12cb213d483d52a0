"""Ask all questions of a run and collect the rows of the `judgements` table.

The questions come in phases, because the re-observation gate decides what is asked after it.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pandas as pd

from lookback.clips import KEYS, Clip
from lookback.errors import Reason
from lookback.judging.asking import Asked, Asker, Budget, Patience
from lookback.judging.frames import Encoding
from lookback.judging.judges.base import Judge
from lookback.judging.packs import read_packs
from lookback.judging.panel import Panel, Seat
from lookback.judging.parsing import unanswered
from lookback.judging.prompting import using
from lookback.judging.question import Answer, Question, Unasked
from lookback.judging.recording import Identity, Recording
from lookback.judging.tasks import TASKS, Sampling, Task
from lookback.names import one_line
from lookback.params.stages import Judging
from lookback.progress import track
from lookback.registry import BENCHMARKS
from lookback.tables import SCHEMAS, empty_table


@dataclass
class Session:
    """The judging of one run: the judges, the recording, the budget, and the rows so far."""

    params: Judging
    panel: Panel
    recording: Recording
    budget: Budget
    encoding: Encoding
    seed: int
    rows: list[dict[str, object]] = field(default_factory=list)
    kept: dict[str, object] = field(default_factory=dict)  # what a benchmark stores here for its own tables
    counted: dict[str, str] = field(default_factory=dict)  # task -> label of the judge whose answers count
    _patience: dict[str, Patience] = field(default_factory=dict)

    @property
    def sampling(self) -> Sampling:
        return Sampling.of(self.params)

    def tasks(self) -> list[Task]:
        """The tasks of this run, in a fixed order."""
        return [TASKS.get(name) for name in self.params.tasks] or list(TASKS)

    def judge(self, clips: Sequence[Clip]) -> pd.DataFrame:
        """Ask the questions of all tasks about all clips; returns the `judgements` table."""
        tasks = self.tasks()
        if self.panel.seats:
            with using(read_packs(self.params.prompts)):
                self._first_phase(tasks, clips)
                names = frozenset(task.name for task in tasks)
                for benchmark in BENCHMARKS:
                    benchmark.ask_later(self, [clip for clip in clips if clip.benchmark == benchmark.name], names)
        return judgements_frame(self.rows)

    def why_not(self) -> dict[str, tuple[Reason, str]]:
        """For each task that nobody was asked: why not."""
        tasks = TASKS.names()
        if not self.panel.seats:
            return dict.fromkeys(tasks, (Reason.BACKEND_UNAVAILABLE, "no judge is chosen; set judging.judge"))
        wanted = {task.name for task in self.tasks()}
        return {name: (Reason.BACKEND_UNAVAILABLE, f"'{name}' is not among judging.tasks") for name in tasks if name not in wanted}

    def _first_phase(self, tasks: Sequence[Task], clips: Sequence[Clip]) -> None:
        """Ask what depends on no other answer, in one batch per judge, so that it can answer several questions at once."""
        batches: dict[str, tuple[Seat, list[Question | Unasked], bool]] = {}
        for task in tasks:
            asked = [question for clip in clips if task.applies(clip) for question in task.questions(clip, self.sampling)]
            for place, seat in enumerate(self.panel.for_task(task.role)):
                counts = place == 0
                if counts:
                    self.counted[task.name] = seat.label
                batches.setdefault(f"{seat.role}:{counts}", (seat, [], counts))[1].extend(asked)
        for seat, questions, counts in batches.values():
            self.ask(seat, questions, counts)

    def ask(self, seat: Seat, questions: Sequence[Question | Unasked], counts: bool = True) -> list[Asked]:
        """Ask one judge and keep the rows. A judge asked for comparison leaves no row for a question it cannot answer."""
        put = [question for question in questions if isinstance(question, Question)]
        if not counts and seat.judge is not None:
            put = [question for question in put if not seat.judge.unable(question)]
        asked = self.answers(seat, put if counts or seat.judge is not None else [], self.params.repeats)
        if counts:
            rest = [question for question in questions if isinstance(question, Unasked)]
            self.rows += unasked_rows(seat.identity, rest, self.params.repeats)
        return asked

    def answers(self, seat: Seat, questions: Sequence[Question], repeats: int) -> list[Asked]:
        """Ask one judge and keep the rows. A judge that cannot be used leaves rows with the reason."""
        if seat.judge is None:
            asked = [Asked(question, 0, unanswered(question, Reason.BACKEND_UNAVAILABLE, seat.why)) for question in questions]
        else:
            steps = track(range(len(questions) * repeats), f"asking {seat.label}", unit="question")
            asker = self._asker(seat.role, seat.judge, steps)
            given_up_before = asker.patience.given_up
            asked = asker.ask_all(questions, repeats)
            deque(steps, maxlen=0)  # runs the bar to its end
            if (given_up := asker.patience.given_up) is not None and given_up_before is None:
                warnings.warn(one_line(f"{seat.label} is asked nothing more: {given_up.detail}"), stacklevel=2)
        self.rows += asked_rows(seat.identity, asked)
        return asked

    def _asker(self, role: str, judge: Judge, steps: Iterator[int]) -> Asker:
        patience = self._patience.setdefault(role, Patience(self.seed, self.params.max_wait_s))
        return Asker(
            judge,
            self.recording,
            self.budget,
            patience,
            encoding=self.encoding,
            concurrency=self.params.concurrency,
            max_retries=self.params.max_retries,
            done=lambda: next(steps, None),
        )


def asked_rows(identity: Identity, asked: Iterable[Asked]) -> list[dict[str, object]]:
    """One row of the `judgements` table per answer."""
    return [_row(identity, one.question, one.repeat, answer) for one in asked for answer in one.answers]


def unasked_rows(identity: Identity, unasked: Iterable[Unasked], repeats: int) -> list[dict[str, object]]:
    """Rows for questions that could not be asked."""
    rows = []
    for one in unasked:
        answers = [Answer(part, reason=one.reason, verbatim=one.detail) for part in one.parts]
        rows += [_row(identity, one, repeat, answer) for repeat in range(repeats) for answer in answers]
    return rows


def judgements_frame(rows: list[dict[str, object]]) -> pd.DataFrame:
    """The rows as the `judgements` table."""
    if not rows:
        return empty_table("judgements")
    return pd.DataFrame(rows, columns=list(SCHEMAS["judgements"].columns))


def _row(identity: Identity, asked: Question | Unasked, repeat: int, answer: Answer) -> dict[str, object]:
    return {
        **dict(zip(KEYS, asked.clip.key, strict=True)),
        "task": asked.task,
        "question_id": answer.part.question_id,
        "judge": identity.label,
        "repeat": repeat,
        "frame": answer.part.frame,
        "question": answer.part.text,
        "answer": answer.answer,
        "value": answer.value,
        "confidence": answer.confidence,
        "value_from": answer.value_from,
        "reason": "" if answer.reason is None else str(answer.reason),
        "verbatim": answer.verbatim,
        "prompt_version": asked.prompt_version,
        "simulated": identity.simulated,
        "backend": identity.name,
        "version": identity.version,
        "weights": identity.model,
        "params_hash": identity.settings_hash[:16],
        "input_hash": asked.clip.content_hash[:16],
    }
