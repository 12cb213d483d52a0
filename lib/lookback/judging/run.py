"""Ask everything a run wants to know: phase by phase, because the gate decides what is asked after it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from lookback.clips import Clip
from lookback.errors import Reason
from lookback.judging.asking import Asked, Asker
from lookback.judging.budget import Budget
from lookback.judging.frames import Encoding
from lookback.judging.interpret import unanswered
from lookback.judging.judges.base import Judge
from lookback.judging.panel import Panel, Seat
from lookback.judging.question import Question, Unasked
from lookback.judging.recording import Recording
from lookback.judging.rows import asked_rows, judgements_frame, unasked_rows
from lookback.judging.tasks import TASKS, Sampling, Task
from lookback.judging.waiting import Patience
from lookback.params.stages import Judging
from lookback.progress import track
from lookback.registry import BENCHMARKS


@dataclass
class Session:
    """One run's judging: the panel, the recording, the budget, and the rows so far."""

    params: Judging
    panel: Panel
    recording: Recording
    budget: Budget
    encoding: Encoding
    seed: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    kept: dict[str, object] = field(default_factory=dict)  # what a benchmark keeps for its tables
    counted: dict[str, str] = field(default_factory=dict)  # task -> label of the judge whose answers count
    _patience: dict[str, Patience] = field(default_factory=dict)

    @property
    def sampling(self) -> Sampling:
        return Sampling.of(self.params)

    def tasks(self) -> list[Task]:
        """The tasks of this run, in a fixed order."""
        return [TASKS.get(name) for name in self.params.tasks] or list(TASKS)

    def judge(self, clips: Sequence[Clip]) -> pd.DataFrame:
        """Ask all tasks about all clips; returns the judgements."""
        tasks = self.tasks()
        if self.panel.seats:
            self._first_phase(tasks, clips)
            names = frozenset(task.name for task in tasks)
            for benchmark in BENCHMARKS:
                benchmark.ask_later(self, [clip for clip in clips if clip.benchmark == benchmark.name], names)
        return judgements_frame(self.rows)

    def why_not(self) -> dict[str, tuple[Reason, str]]:
        """Why a task has no answers at all."""
        tasks = TASKS.names()
        if not self.panel.seats:
            return dict.fromkeys(tasks, (Reason.BACKEND_UNAVAILABLE, "no judge is chosen; set judging.judge"))
        wanted = {task.name for task in self.tasks()}
        return {name: (Reason.BACKEND_UNAVAILABLE, f"'{name}' is not among judging.tasks") for name in tasks if name not in wanted}

    def _first_phase(self, tasks: Sequence[Task], clips: Sequence[Clip]) -> None:
        """Everything that depends on no other answer; one batch per judge, so that its concurrency is used."""
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
        """Ask one judge and keep the rows. One that is asked for comparison leaves no row where it cannot answer."""
        put = [question for question in questions if isinstance(question, Question)]
        if not counts and seat.judge is not None:
            put = [question for question in put if not seat.judge.unable(question)]
        asked = self.answers(seat, put if counts or seat.judge is not None else [], self.params.repeats)
        if counts:
            rest = [question for question in questions if isinstance(question, Unasked)]
            self.rows += unasked_rows(seat.identity, rest, self.params.repeats)
        return asked

    def answers(self, seat: Seat, questions: Sequence[Question], repeats: int) -> list[Asked]:
        """Put the questions to one judge and keep the rows; one that cannot be used leaves its reason instead."""
        if seat.judge is None:
            asked = [Asked(question, 0, unanswered(question, Reason.BACKEND_UNAVAILABLE, seat.why)) for question in questions]
        else:
            steps = track(range(len(questions) * repeats), f"asking {seat.label}", unit="question")
            asked = self._asker(seat.role, seat.judge, steps).ask_all(questions, repeats)
            deque(steps, maxlen=0)  # runs the bar to its end
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
