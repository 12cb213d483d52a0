"""Ask everything a run wants to know: phase by phase, because the gate decides what is asked after it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.judging.asking import Asked, Asker
from lookback.judging.budget import Budget
from lookback.judging.frames import Encoding
from lookback.judging.interpret import unanswered
from lookback.judging.judges.base import Judge
from lookback.judging.panel import Panel, Seat
from lookback.judging.question import Part, Question, Unasked
from lookback.judging.recording import Identity, Recording
from lookback.judging.rows import asked_rows, judgements_frame, unasked_rows
from lookback.judging.tasks import Sampling, Task, load_tasks, task_named
from lookback.benchmarks.wrbench.judgeability import applicable
from lookback.benchmarks.wrbench.probes import REOBSERVED, reobserved_questions
from lookback.benchmarks.memobench.vqa.asking import questions as vqa_questions
from lookback.judging.verdicts import JudgedClip, clip_verdicts
from lookback.benchmarks.memobench.vqa.bank import read_question_files
from lookback.benchmarks.memobench.vqa.pipeline import Bank, TaskKey, make_banks, read_banks, read_known_failures
from lookback.judging.waiting import Patience
from lookback.params.stages import Judging
from lookback.paths import resolve
from lookback.progress import track


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
    banks: dict[TaskKey, Bank] = field(default_factory=dict)
    counted: dict[str, str] = field(default_factory=dict)  # task -> label of the judge whose answers count
    _patience: dict[str, Patience] = field(default_factory=dict)

    @property
    def sampling(self) -> Sampling:
        return Sampling.of(self.params)

    def tasks(self) -> list[Task]:
        """The tasks of this run, in a fixed order."""
        known = load_tasks()
        return [task_named(name) for name in self.params.tasks] or [known[name] for name in sorted(known)]

    def judge(self, clips: Sequence[Clip]) -> pd.DataFrame:
        """Ask all tasks about all clips; returns the judgements."""
        tasks = self.tasks()
        if self.panel.seats:
            self._first_phase(tasks, clips)
            if any(task.name == "vqa" for task in tasks):
                self._vqa([clip for clip in clips if clip.benchmark == "memobench"])
            if any(task.name == "probe" for task in tasks):
                self._reobserved([clip for clip in clips if clip.benchmark == "wrbench"])
        return judgements_frame(self.rows)

    def why_not(self) -> dict[str, tuple[Reason, str]]:
        """Why a task has no answers at all."""
        tasks = {task.name: task for task in load_tasks().values()}
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
                    self.counted[task.name] = _label(seat)
                batches.setdefault(f"{seat.role}:{counts}", (seat, [], counts))[1].extend(asked)
        for seat, questions, counts in batches.values():
            self.ask(seat, questions, counts)

    def ask(self, seat: Seat, questions: Sequence[Question | Unasked], counts: bool = True) -> list[Asked]:
        """Ask one judge and keep the rows. One that is asked for comparison leaves no row where it cannot answer."""
        put = [question for question in questions if isinstance(question, Question)]
        if not counts and seat.judge is not None:
            put = [question for question in put if not seat.judge.unable(question)]
        asked = self._answers(seat, put if counts or seat.judge is not None else [], self.params.repeats)
        if counts:
            rest = [question for question in questions if isinstance(question, Unasked)]
            self.rows += unasked_rows(_identity(seat), rest, self.params.repeats)
        return asked

    def _answers(self, seat: Seat, questions: Sequence[Question], repeats: int) -> list[Asked]:
        if seat.judge is None:
            asked = [Asked(question, 0, unanswered(question, Reason.BACKEND_UNAVAILABLE, seat.why)) for question in questions]
        else:
            steps = track(range(len(questions) * repeats), f"asking {_label(seat)}", unit="question")
            asked = self._asker(seat.role, seat.judge, steps).ask_all(questions, repeats)
            deque(steps, maxlen=0)  # runs the bar to its end
        self.rows += asked_rows(_identity(seat), asked)
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

    def _vqa(self, clips: Sequence[Clip]) -> None:
        scorer = self.panel.judge("scorer")
        if scorer is None or not clips:
            return
        self.counted["vqa"] = _label(scorer)
        self.banks = self._question_banks(scorer, clips)
        questions: list[Question | Unasked] = []
        for clip in clips:
            bank = self.banks[(clip.setting, clip.clip_id)]
            if bank.questions:
                questions += vqa_questions(clip, bank.questions, self.sampling)
            else:
                part = Part("bank", "Is there a question bank for this clip?")
                questions.append(Unasked(clip, "vqa", "", (part,), bank.reason or Reason.MISSING_INPUT, bank.detail))
        self.ask(scorer, questions)

    def _question_banks(self, scorer: Seat, clips: Sequence[Clip]) -> dict[TaskKey, Bank]:
        if self.params.vqa_questions:
            return read_banks(clips, read_question_files(resolve(self.params.vqa_questions)))
        failures = read_known_failures(resolve(self.params.vqa_failures), clips) if self.params.vqa_failures else {}
        # a bank is made once, whatever the number of repeats
        return make_banks(clips, lambda asked: self._answers(scorer, asked, 1), self.sampling, failures, self.params.vqa_filter)

    def _reobserved(self, clips: Sequence[Clip]) -> None:
        """The probes of D5 and D6, each for the clips whose own gate is open."""
        scorer = self.panel.judge("scorer")
        if scorer is None or "judgeability" not in self.counted:
            return
        verdicts = clip_verdicts(judgements_frame(self.rows), self.counted)
        questions: list[Question | Unasked] = []
        for clip in clips:
            judged = JudgedClip(clip, "paper", verdicts.get(clip.key, {}))
            for dimension in REOBSERVED:
                try:
                    is_open = applicable(dimension, judged.gate())[0]
                except NotScorable:
                    continue
                questions += reobserved_questions(clip, self.sampling, dimension) if is_open else []
        self.ask(scorer, questions)


def _label(seat: Seat) -> str:
    return _identity(seat).label


def _identity(seat: Seat) -> Identity:
    return seat.judge.identity if seat.judge is not None else Identity(seat.name, seat.name)
