"""Ask many questions of one judge: recorded answers first, several calls at once, retries, and a budget.

No question is asked twice. A reply is recorded before anything else happens, and two questions with the same key share one call.
Every question ends with answers or with the reason why it has none.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lookback.errors import LookbackError, MediaError, Reason
from lookback.files import sha256_json
from lookback.hiding import redact
from lookback.judging.frames import Encoding
from lookback.judging.judges.base import Judge
from lookback.judging.parsing import interpret, is_cut_short, is_likely, unanswered
from lookback.judging.question import YES_NO_TOKENS, Answer, JudgeError, Question, Reply
from lookback.judging.recording import Call, Failure, Recording, call_key
from lookback.registry import JUDGES

SHOWN = 500  # characters of an unexpected error that are kept
FIRST_WAIT_S = 0.5
ROUNDING = 1 + 1e-9  # so that ten times 0.1 does not exceed 1


@dataclass(frozen=True)
class Asked:
    """A question with its answers."""

    question: Question
    repeat: int
    answers: list[Answer]


class Asker:
    """Asks one judge, with one recording."""

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
        # replies that cost nothing are recorded together at the end
        self._late: list[Call] = []
        self._running: dict[str, asyncio.Task[Reply | Failure]] = {}

    def ask_all(self, questions: Sequence[Question], repeats: int = 1) -> list[Asked]:
        """The answers in the order of the questions. Works inside a notebook too, because it runs an event loop of its own."""
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
            raise group_error.exceptions[0] from None  # the user sees the first error, not the group
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
            if first is None:  # recorded for the plain call too, because a replay looks there first
                self.recording.put_all([(self._key(question, 0, repeat), self.judge.identity, question, 0, repeat, failure)])
            return unanswered(question, failure.reason, failure.detail)
        replies = [reply for reply in (*drawn, first) if isinstance(reply, Reply)][: len(drawn) or 1]
        try:
            answers = interpret(question, replies)
        except Exception:  # a reply that breaks the parser must not stop the other questions
            return unanswered(question, Reason.JUDGE_UNPARSED, redact(replies[0].text))
        return [replace(answer, verbatim=redact(answer.verbatim)) for answer in answers]

    def _samples_alone(self, question: Question, repeat: int) -> int:
        """How many samples to draw without a plain call; 0 means that the plain call comes first.

        There is no plain call where the recording holds only samples, or where the judge needs none. A recorded plain reply is
        always used, so that a rerun and a replay decide as the first run did.
        """
        if self._is_recorded(question, 0, repeat):
            return 0
        drawn = self.judge.identity.samples(question)
        if any(self._is_recorded(question, sample, repeat) for sample in range(1, drawn + 1)):
            return drawn
        return self.judge.samples(question, None)

    def _is_recorded(self, question: Question, sample: int, repeat: int) -> bool:
        return self._recorded(self._key(question, sample, repeat), question) is not None

    def _recorded(self, key: str, question: Question) -> Reply | None:
        """The recorded reply, where it may be served. A live run asks again where an older version recorded one without answer."""
        known = self.recording.get(key) if self.judge.costs else None
        if not isinstance(known, Reply) or (self._says_nothing(known, question) and not self.recording.read_only):
            return None
        return known

    def _says_nothing(self, reply: Reply, question: Question) -> bool:
        """Whether a reply is empty, a yes/no that was cut off at the short limit, or one that was scored at a thought."""
        if reply.stated is not None:
            return False
        if reply.logprobs and JUDGES.get(self.judge.identity.name).local_model:
            return not is_likely(reply.logprobs)
        if not reply.text.strip() and not reply.truncated:
            return True
        short = reply.usage.get("output_tokens", 0) <= YES_NO_TOKENS < (self.judge.identity.settings or {}).get("max_tokens", 0)
        return question.expects == "yes_no" and short and is_cut_short(reply)

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
        if (known := self._recorded(key, question)) is not None:
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
            if (given_up := self.patience.given_up) is not None:
                return Failure(given_up.reason, redact(f"not asked: {given_up.detail}"))
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
                self.patience.heed(error)
                if error.changed:
                    continue
                if error.fatal or not error.retry or attempt == self.max_retries:
                    return Failure(error.reason, redact(error.detail))
                await self.patience.after(key, attempt, error.wait_s)
                attempt += 1
            except LookbackError:
                raise
            except Exception as error:  # an unexpected error must not stop the other questions
                return Failure(Reason.BACKEND_FAILED, redact(f"{type(error).__name__}: {error}")[:SHOWN])

    async def _asked(self, question: Question, sample: int, repeat: int, posts: int) -> Reply:
        """Make one call. It counts against the budget from the moment it is made."""
        if not self._paid:
            return await self.judge.ask(question, sample, repeat)
        self.budget.take()
        started = time.monotonic()
        try:
            reply = await self.judge.ask(question, sample, repeat)
            return self._charged(reply, time.monotonic() - started, posts)
        except JudgeError as error:
            self._charge(error.spent)
            raise
        finally:
            self.budget.ended()

    @property
    def _paid(self) -> bool:
        """Whether a call counts against the budget; a replay makes no calls."""
        return self.judge.costs and not self.recording.read_only

    def _charged(self, reply: Reply, seconds: float, attempts: int) -> Reply:
        usage: dict[str, Any] = dict(reply.usage)
        price = self._charge(usage) + self.budget.price_per_call * (attempts - 1)
        return replace(reply, usage={**usage, "latency_s": round(seconds, 4), "attempts": attempts, "cost": price})

    def _charge(self, usage: Mapping[str, Any]) -> float:
        return self.budget.charge(int(usage.get("input_tokens", 0)), int(usage.get("output_tokens", 0)))


def _in_thread(work: Coroutine[Any, Any, list[Asked]]) -> list[Asked]:
    """Run in another thread, because a notebook has an event loop in this one. An interrupt here stops the other thread too."""
    asked: list[Asked] = []
    errors: list[BaseException] = []
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)

    def run() -> None:
        try:
            asked.extend(loop.run_until_complete(task))
        except BaseException as error:
            errors.append(error)
        finally:
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    thread = threading.Thread(target=run, name="judging", daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:  # the user stopped the cell: ask no further question
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise
    if errors:
        raise errors[0]
    return asked


@dataclass
class Patience:
    """When to try again. A pause that the server asks for holds back every call; exponential back-off only the failed one."""

    seed: int
    max_wait_s: float
    first_wait_s: float = FIRST_WAIT_S
    given_up: JudgeError | None = field(default=None, init=False)  # why no other question can succeed
    _resume_at: float = field(default=0.0, init=False)

    def heed(self, error: JudgeError) -> None:
        """Give up where no other question can succeed, or where the server asks for a longer wait than the run allows."""
        if error.retry and (error.wait_s or 0) > self.max_wait_s:
            error.fatal = True
            error.detail += (
                f"; it asks for a wait of {error.wait_s:.0f} s, and judging.max_wait_s allows {self.max_wait_s:g} s: "
                "raise it, or run again later"
            )
        if error.fatal:
            self.given_up = error

    async def pause(self) -> None:
        """Wait until the pause that the server asked for is over."""
        while (left := self._resume_at - time.monotonic()) > 0:
            await asyncio.sleep(left)

    async def after(self, key: str, attempt: int, wait_s: float | None) -> None:
        """Wait before this call is tried again; `wait_s` is how long the server asked to wait."""
        if wait_s is not None:
            self._resume_at = max(self._resume_at, time.monotonic() + wait_s)
            return await self.pause()
        await asyncio.sleep(self.backoff(key, attempt))

    def backoff(self, key: str, attempt: int) -> float:
        """first * 2^attempt, at most max_wait_s, times a jitter in [0.5, 1) that depends only on seed, call and attempt."""
        jitter = np.random.default_rng(int(sha256_json([self.seed, key, attempt])[:16], 16)).uniform(0.5, 1.0)
        return float(min(self.first_wait_s * 2**attempt, self.max_wait_s) * jitter)


@dataclass
class Budget:
    """How many calls a run may make and what they may cost. Recorded answers are free; a retry is a call.

    The price of a call's tokens is known only when the call has ended. A call under way is therefore taken to cost as much as the
    most expensive one so far, and until a price is known, only one call is made at a time. `max_cost` is exceeded only where a
    call costs more than all before it.
    """

    max_calls: int | None = None
    max_cost: float | None = None
    price_per_call: float = 0.0
    price_per_million_input: float = 0.0
    price_per_million_output: float = 0.0
    calls: int = 0
    cost: float = 0.0
    _under_way: int = field(default=0, init=False)
    _highest: float | None = field(default=None, init=False)  # the highest price of one call's tokens so far
    _waiting: list[asyncio.Future[None]] = field(default_factory=list, init=False)

    async def room(self) -> bool:
        """Whether one more call fits; waits for calls under way where the answer depends on what they cost."""
        while self.max_calls is None or self.calls < self.max_calls:
            if self._fits():
                return True
            if self._under_way == 0:
                return False
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter
        return False

    def take(self) -> None:
        """Count one call and its fixed price; its tokens are counted when it has ended."""
        self.calls += 1
        self.cost += self.price_per_call
        self._under_way += 1

    def charge(self, input_tokens: int, output_tokens: int) -> float:
        """Add the price of a call's tokens; returns the full price of the call."""
        tokens = input_tokens * self.price_per_million_input / 1e6 + output_tokens * self.price_per_million_output / 1e6
        self.cost += tokens
        self._highest = max(self._highest or 0.0, tokens)
        return self.price_per_call + tokens

    def ended(self) -> None:
        """A call has ended, with a reply or without."""
        self._under_way -= 1
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()

    def _fits(self) -> bool:
        if self.max_cost is None:
            return True
        most = self.max_cost * ROUNDING
        if self.cost + self.price_per_call > most:
            return False
        if not self._tokens_cost:
            return True
        if self._highest is None:
            return self._under_way == 0 and self.cost < self.max_cost
        return self.cost + self.price_per_call + (self._under_way + 1) * self._highest <= most

    @property
    def _tokens_cost(self) -> bool:
        return self.price_per_million_input > 0 or self.price_per_million_output > 0
