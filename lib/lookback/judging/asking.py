"""Ask many questions of one judge: recorded answers first, several calls at once, retries, and a budget.

No question is asked twice. A reply is recorded before anything else happens, and two questions with the same key share one call.
Every question ends with answers or with the reason why it has none.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from lookback.errors import LookbackError, MediaError, Reason
from lookback.hiding import hide
from lookback.judging.frames import Encoding
from lookback.judging.judges.base import Judge
from lookback.judging.limits import Budget, Patience
from lookback.judging.parsing import interpret, is_cut_short, is_likely, unanswered
from lookback.judging.question import YES_NO_TOKENS, Answer, JudgeError, Question, Reply
from lookback.judging.recording import Call, Failure, Recording, call_key
from lookback.registry import JUDGES

SHOWN = 500  # characters of an unexpected error that are kept


@dataclass(frozen=True)
class Asked:
    """A question with its answers."""

    question: Question
    repeat: int
    answers: list[Answer]


@dataclass
class Tries:
    """The calls that were made for one answer: what they have used, and how long the server made them wait."""

    key: str
    replies_before: int  # that the judge had given to any question
    calls: int = 0
    retries: int = 0
    waits: int = 0
    waited_s: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    latency_s: float = 0.0  # of the last call

    @property
    def usage(self) -> dict[str, Any]:
        """All that was spent, in the words of a recording; empty where no call was made."""
        tokens = {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}
        return {**tokens, "latency_s": round(self.latency_s, 4), "attempts": self.calls, "cost": self.cost} if self.calls else {}


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
        self._first = asyncio.Lock()

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
                unpaid = replace(failure, usage={})
                self.recording.put_all([(self._key(question, 0, repeat), self.judge.identity, question, 0, repeat, unpaid)])
            return unanswered(question, failure.reason, failure.detail)
        replies = [reply for reply in (*drawn, first) if isinstance(reply, Reply)][: len(drawn) or 1]
        try:
            answers = interpret(question, replies)
        except Exception:  # a reply that breaks the parser must not stop the other questions
            return unanswered(question, Reason.JUDGE_UNPARSED, hide(replies[0].text))
        return [replace(answer, verbatim=hide(answer.verbatim)) for answer in answers]

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
        tries = Tries(key, self.patience.replies)
        outcome = await self._outcome(tries, question, sample, repeat)
        return replace(outcome, usage={**outcome.usage, **tries.usage})

    async def _outcome(self, tries: Tries, question: Question, sample: int, repeat: int) -> Reply | Failure:
        while True:
            try:
                return await self._post(tries, question, sample, repeat)
            except MediaError as error:
                return Failure(error.reason, hide(str(error)))
            except OSError as error:
                return Failure(Reason.DECODE_FAILED, hide(f"the video cannot be read: {error}"))
            except JudgeError as error:
                if error.changed:
                    continue
                wait_s = self._wait_s(tries, error)
                if wait_s is None:
                    return Failure(error.reason, hide(error.detail))
                await asyncio.sleep(wait_s)
            except LookbackError:
                raise
            except Exception as error:  # an unexpected error must not stop the other questions
                return Failure(Reason.BACKEND_FAILED, hide(f"{type(error).__name__}: {error}")[:SHOWN])

    def _wait_s(self, tries: Tries, error: JudgeError) -> float | None:
        """How long to wait before the next try; None where there is none.

        A wait that the server asks for is no retry. All waits for one answer together have a limit.
        """
        if error.fatal or not error.retry:
            return None
        wait_s = self.patience.wait_s(tries.key, tries.retries, error.wait_s)
        if not error.wait_s:
            tries.retries += 1
            return wait_s if tries.retries <= self.max_retries else None
        tries.waits += 1
        tries.waited_s += wait_s
        longest = self.max_retries * self.patience.max_wait_s
        if tries.waited_s <= longest:
            return wait_s
        error.detail += f"; it asks for a wait again and again, and judging.max_retries times max_wait_s allow {longest:g} s in all"
        error.fatal = self.patience.replies == tries.replies_before  # nobody else was answered meanwhile
        self.patience.heed(error)
        return None

    async def _post(self, tries: Tries, question: Question, sample: int, repeat: int) -> Reply | Failure:
        """Make one call, unless the judge was given up or the budget has ended."""
        async with self._first_alone():
            await self.patience.pause(tries.key, tries.waits)
            room = not self._paid or await self.budget.room()
            if (given_up := self.patience.given_up) is not None:
                return Failure(given_up.reason, hide(f"not asked: {given_up.detail}"))
            if not room:
                return Failure(Reason.BUDGET_SPENT, "the budget ended before this question")
            return await self._asked(tries, question, sample, repeat)

    @asynccontextmanager
    async def _first_alone(self) -> AsyncIterator[None]:
        """Let the first call to an endpoint end before others are made, so that a refused key costs one call."""
        if not self.patience.tried and self._paid and not JUDGES.get(self.judge.identity.name).local_model:
            async with self._first:
                if not self.patience.tried:
                    try:
                        yield
                    finally:
                        self.patience.tried = True
                    return
        yield

    async def _asked(self, tries: Tries, question: Question, sample: int, repeat: int) -> Reply:
        """Make one call. It counts against the budget from the moment it is made."""
        if not self._paid:
            return await self.judge.ask(question, sample, repeat)
        self.budget.take()
        tries.calls += 1
        tries.cost += self.budget.price_per_call
        started = time.monotonic()
        try:
            reply = await self.judge.ask(question, sample, repeat)
            self.patience.replies += 1
            self._charge(tries, reply.usage)
            return reply
        except JudgeError as error:
            self.patience.heed(error)
            self._charge(tries, error.spent)
            raise
        finally:
            tries.latency_s = time.monotonic() - started
            self.budget.ended()

    @property
    def _paid(self) -> bool:
        """Whether a call counts against the budget; a replay makes no calls."""
        return self.judge.costs and not self.recording.read_only

    def _charge(self, tries: Tries, usage: Mapping[str, Any]) -> None:
        read, written = int(usage.get("input_tokens", 0)), int(usage.get("output_tokens", 0))
        tries.input_tokens += read
        tries.output_tokens += written
        tries.cost += self.budget.charge(read, written)


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
