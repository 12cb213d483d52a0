"""Asking many questions: bounded concurrency, recorded answers first, a budget, retries. Every question ends in answers.

Nothing is asked twice: a reply is recorded before anything else happens, and two questions with one key share one call.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lookback.errors import LookbackError, MediaError, Reason
from lookback.judging.budget import Budget
from lookback.judging.frames import Encoding
from lookback.judging.interpret import interpret, unanswered
from lookback.judging.judges.base import Judge
from lookback.judging.question import Answer, JudgeError, Question, Reply
from lookback.judging.recording import Failure, Identity, Recording, call_key
from lookback.judging.secrets import redact
from lookback.judging.waiting import Patience

SHOWN = 500  # characters of an unexpected error


@dataclass(frozen=True)
class Asked:
    """A question with its answers."""

    question: Question
    repeat: int
    answers: list[Answer]


class Asker:
    """One judge at work on one recording."""

    def __init__(
        self,
        judge: Judge,
        recording: Recording,
        budget: Budget,
        patience: Patience,
        *,
        encoding: Encoding | None = None,
        concurrency: int = 8,
        max_retries: int = 3,
        done: Callable[[], object] = lambda: None,
    ):
        self.judge = judge
        self.recording = recording
        self.budget = budget
        self.patience = patience
        self.encoding = encoding or Encoding()
        self.concurrency = concurrency
        self.max_retries = max_retries
        self.done = done
        self._late: list[tuple[str, Identity, Question, int, int, Reply | Failure]] = []  # free replies, recorded together
        self._running: dict[str, asyncio.Task[Reply | Failure]] = {}
        self._given_up: JudgeError | None = None

    def ask_all(self, questions: Sequence[Question], repeats: int = 1) -> list[Asked]:
        """Every question's answers, in the order of the questions. Runs its own event loop, also inside a notebook's."""
        jobs = [(question, repeat) for question in questions for repeat in range(repeats)]
        return _in_thread(self._work(jobs))

    async def _work(self, jobs: list[tuple[Question, int]]) -> list[Asked]:
        results: list[Asked | None] = [None] * len(jobs)
        waiting = iter(enumerate(jobs))

        async def worker() -> None:
            for place, (question, repeat) in waiting:
                results[place] = Asked(question, repeat, await self._answers(question, repeat))
                self.done()

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.concurrency, len(jobs))):
                    group.create_task(worker())
        except ExceptionGroup as group_error:
            raise group_error.exceptions[0] from None  # the sentence, not the group around it
        finally:
            await self.judge.close()
            self.recording.put_all(self._late)
            self._late = []
        return [result for result in results if result is not None]

    async def _answers(self, question: Question, repeat: int) -> list[Answer]:
        unable = self.judge.unable(question)
        if unable:
            return unanswered(question, Reason.BACKEND_UNAVAILABLE, unable)
        samples, first = self._samples_alone(question, repeat), None
        if samples == 0:
            first = await self._call(question, 0, repeat)
            if isinstance(first, Failure):
                return unanswered(question, first.reason, first.detail)
            samples = self.judge.samples(question, first)
        drawn = [await self._call(question, sample, repeat) for sample in range(1, samples + 1)]
        if failure := next((outcome for outcome in drawn if isinstance(outcome, Failure)), None):
            if first is None:  # noted for the plain call too, which is where a replay looks first
                self.recording.put_all([(self._key(question, 0, repeat), self.judge.identity, question, 0, repeat, failure)])
            return unanswered(question, failure.reason, failure.detail)
        replies = [reply for reply in (*drawn, first) if isinstance(reply, Reply)][: len(drawn) or 1]
        try:
            answers = interpret(question, replies)
        except Exception:  # one reply's defect must not take the others' answers with it
            return unanswered(question, Reason.JUDGE_UNPARSED, redact(replies[0].text))
        return [replace(answer, verbatim=redact(answer.verbatim)) for answer in answers]

    def _samples_alone(self, question: Question, repeat: int) -> int:
        """How many samples decide without a plain call: where the recording holds samples alone, or the judge needs no plain call.

        A recorded plain reply is always used, so that a rerun and a replay decide as the first run did.
        """
        if self._is_recorded(question, 0, repeat):
            return 0
        drawn = self.judge.identity.samples(question)
        if any(self._is_recorded(question, sample, repeat) for sample in range(1, drawn + 1)):
            return drawn
        return self.judge.samples(question, None)

    def _is_recorded(self, question: Question, sample: int, repeat: int) -> bool:
        return self.judge.costs and isinstance(self.recording.get(self._key(question, sample, repeat)), Reply)

    def _key(self, question: Question, sample: int, repeat: int) -> str:
        return call_key(self.judge.identity, question, self.encoding, sample, repeat)

    async def _call(self, question: Question, sample: int, repeat: int) -> Reply | Failure:
        key = self._key(question, sample, repeat)
        if key not in self._running:
            self._running[key] = asyncio.create_task(self._recorded_or_new(key, question, sample, repeat))
        try:
            return await self._running[key]
        finally:
            self._running.pop(key, None)

    async def _recorded_or_new(self, key: str, question: Question, sample: int, repeat: int) -> Reply | Failure:
        if self.judge.costs and isinstance(known := self.recording.get(key), Reply):
            return known
        outcome = await self._new(key, question, sample, repeat)
        entry = (key, self.judge.identity, question, sample, repeat, outcome)
        if self.judge.costs:
            self.recording.put_all([entry])
        else:
            self._late.append(entry)
        return outcome

    async def _new(self, key: str, question: Question, sample: int, repeat: int) -> Reply | Failure:
        attempt, posts = 0, 0
        while True:
            await self.patience.pause()
            room = not self._paid or await self.budget.room()
            if self._given_up is not None:
                return Failure(self._given_up.reason, redact(f"not asked: {self._given_up.detail}"))
            if not room:
                return Failure(Reason.BUDGET_SPENT, "the budget ended before this question")
            posts += 1
            try:
                return await self._asked(question, sample, repeat, posts)
            except MediaError as error:
                return Failure(error.reason, redact(str(error)))
            except OSError as error:
                return Failure(Reason.DECODE_FAILED, redact(f"the video cannot be read: {error}"))
            except JudgeError as error:
                if error.fatal:
                    self._given_up = error
                if error.changed:
                    continue
                if not error.retry or attempt == self.max_retries or (error.wait_s or 0) > self.patience.max_wait_s:
                    return Failure(error.reason, redact(error.detail))
                await self.patience.after(key, attempt, error.wait_s)
                attempt += 1
            except LookbackError:
                raise
            except Exception as error:  # one reply's defect must not take the others' answers with it
                return Failure(Reason.BACKEND_FAILED, redact(f"{type(error).__name__}: {error}")[:SHOWN])

    async def _asked(self, question: Question, sample: int, repeat: int, posts: int) -> Reply:
        """One post, counted against the budget from the moment it is made."""
        if not self._paid:
            return await self.judge.ask(question, sample, repeat)
        self.budget.take()
        started = time.monotonic()
        try:
            reply = await self.judge.ask(question, sample, repeat)
            return self._charged(reply, time.monotonic() - started, posts)
        finally:
            self.budget.ended()

    @property
    def _paid(self) -> bool:
        """Whether a call counts against the budget; a replay only reads."""
        return self.judge.costs and not self.recording.read_only

    def _charged(self, reply: Reply, seconds: float, attempts: int) -> Reply:
        usage: dict[str, Any] = dict(reply.usage)
        price = self.budget.charge(int(usage.get("input_tokens", 0)), int(usage.get("output_tokens", 0)))
        price += self.budget.price_per_call * (attempts - 1)
        return replace(reply, usage={**usage, "latency_s": round(seconds, 4), "attempts": attempts, "cost": price})


def _in_thread(work: Coroutine[Any, Any, list[Asked]]) -> list[Asked]:
    """Run in a thread of its own, because a notebook already has an event loop in this one; an interrupt here stops it there."""
    outcome: dict[str, Any] = {}
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)

    def run() -> None:
        try:
            outcome["value"] = loop.run_until_complete(task)
        except BaseException as error:
            outcome["error"] = error
        finally:
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    thread = threading.Thread(target=run, name="judging", daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:  # the user stopped the cell: no further question may be asked
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]
