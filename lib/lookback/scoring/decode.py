"""Answer the pixel requests of clips: one decode of each video, and one of a ground truth that several clips share.

Clips are decoded in step: the one whose next frame needs the earliest true frame goes first. So a true frame is decoded once,
brought to each size once (`lookback.media.derived`), and forgotten as soon as no clip needs it any more.

Where there are at least twice as many clips as threads, each thread takes a clip one frame further, alone: it decodes the frame and
measures it while it lies in the cache. With fewer clips, the decoder and the metrics share the threads out by themselves.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from lookback.errors import MediaError, NotScorable, Reason
from lookback.media import Habits, SharedFrame, VideoReader, open_video
from lookback.progress import inside
from lookback.reasons import not_scorable
from lookback.scoring.contract import Consumer, Frames, Paired, Request, Stream
from lookback.threads import in_thread_pool, thread_count, thread_pool

T = TypeVar("T")
Spent = defaultdict[str, float]  # name -> seconds
Plan = dict[int, int] | None  # frame -> true frame (-1: none); None: every frame
DECODE = "decode"  # the seconds that belong to no request
LEAD = 2  # true frames that a clip may be ahead of the oldest that another clip still needs
_one_at_a_time = Lock()  # for consumers that only one thread may call


@contextmanager
def clocked(spent: Spent, name: str) -> Iterator[None]:
    """Add the time of the block to `name`."""
    started = time.perf_counter()
    try:
        yield
    finally:
        spent[name] += time.perf_counter() - started


@dataclass(frozen=True)
class Asked:
    """What one clip is asked for. `spent` receives the seconds of each key's consumer, and those of decoding."""

    video: Path
    truth: Path | None
    requests: Sequence[Request]
    spent: Spent
    n_frames: int = 0  # of the video, for the progress


def serve(clips: Sequence[Asked]) -> list[list[Any]]:
    """Each clip's answers in the order of its requests. A request that cannot be answered gets a NotScorable with the reason."""
    many = len(clips) >= 2 * thread_count() > 2 and not in_thread_pool()
    pool = thread_pool() if many else None
    truths = {path: _Truth(path, pool) for path in {clip.truth for clip in clips}}
    served = [_Served(clip, truths[clip.truth]) for clip in clips]
    try:
        _in_step(served, pool)
    finally:
        for truth in truths.values():
            truth.close()
    return [[each.requests.answer(request) for request in each.asked.requests] for each in served]


def _in_step(served: Sequence[_Served], pool: Executor | None) -> None:
    """Advance the clips frame by frame, so that all of them need the truth at about the same place."""
    waiting = [(-1, number) for number in range(len(served))]
    running: dict[Future[int | None], int] = {}
    most = 2 * thread_count() if pool else 1
    done, total = 0, sum(each.frames for each in served)
    try:
        while waiting or running:
            if waiting and (not running or (len(running) < most and _near(served, *waiting[0]))):
                needed, number = heapq.heappop(waiting)
                served[number].truth.reach(needed)
                running[_begun(pool, served[number].advance)] = number
                continue
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                number = running.pop(future)
                done += 1
                inside("frame", min(done, total), total)
                if (furthest := future.result()) is not None:
                    heapq.heappush(waiting, (furthest, number))
    finally:
        wait(running)  # after an interruption: nothing is closed that a thread still works on


def _near(served: Sequence[_Served], needed: int, number: int) -> bool:
    """Whether the true frame that a clip needs next is near those that others still hold."""
    return needed <= served[number].truth.oldest() + LEAD


def _begun(pool: Executor | None, work: Callable[[], T]) -> Future[T]:
    """The work as a task of the pool; without a pool it is done at once."""
    if pool is not None:
        return pool.submit(work)
    done: Future[T] = Future()
    done.set_result(work())
    return done


class _Served:
    """One clip on its way: its next frame waits for its true frames."""

    def __init__(self, asked: Asked, truth: _Truth):
        self.asked, self.truth = asked, truth
        self.requests = _Requests(asked.requests, asked.spent)
        self.last_uses = truth.wanted_by(asked.requests)  # frame -> the true frames that it is the last to need
        self.frames = len(self.requests.wanted) if not self.requests.everything else asked.n_frames
        self.steps = self._decoded()

    def advance(self) -> int | None:
        """Decode and measure the next frame. Returns the last true frame that the one after it needs; None at the end."""
        before, started = sum(self.asked.spent.values()), time.perf_counter()
        needed = next(self.steps, None)
        measured = sum(self.asked.spent.values()) - before
        self.asked.spent[DECODE] += time.perf_counter() - started - measured
        return needed

    def _decoded(self) -> Iterator[int]:
        """The last true frame that each frame needs, before this frame is decoded."""
        if not self.asked.requests:
            return
        try:
            with open_video(self.asked.video) as reader:
                indices, frames = _wanted(reader, self.requests)
                for index in indices:
                    yield self.requests.furthest_truth(index)
                    if (frame := next(frames, None)) is None:
                        break
                    self.requests.push(index, frame, self.truth)
                    self.truth.release(self.last_uses.pop(index, ()))
                if self.requests.until is None or self.requests.until >= reader.info.n_frames:
                    next(frames, None)  # a file that is cut off says so at its end
        except MediaError as error:
            self.requests.failure = NotScorable(error.reason, str(error))
        finally:
            for matches in self.last_uses.values():  # the clip ended early
                self.truth.release(matches)


def _wanted(reader: VideoReader, requests: _Requests) -> tuple[Sequence[int], Iterator[np.ndarray]]:
    """The indices and the frames up to the last that a request needs; where they are few, only the requested ones, by seeking."""
    count, until = reader.info.n_frames, requests.until
    if until is None or len(requests.wanted) > 0.5 * count:
        return range(count if until is None else min(until + 1, count)), (frame for _, frame in reader)
    wanted = [index for index in sorted(requests.wanted) if index < count]
    return wanted, (frame for start in range(0, len(wanted), 8) for frame in reader.read(wanted[start : start + 8]))


class _Requests:
    """All requests of a clip, by the frames they need."""

    def __init__(self, requests: Sequence[Request], spent: Spent):
        self.spent = spent
        self.kept: dict[int, np.ndarray] = {}
        self.to_keep: set[int] = set()
        self.consumers: dict[str, Consumer | NotScorable] = {}
        self.plans: dict[str, tuple[Plan, bool]] = {}  # key -> (its plan, whether it needs the truth)
        self.failure: NotScorable | None = None
        for request in requests:
            if isinstance(request, Frames):
                self.to_keep |= {int(index) for index in request.indices}
            elif request.key not in self.consumers:
                self.consumers[request.key] = request.make()
                self.plans[request.key] = self._plan(request)
            else:
                assert self._plan(request) == self.plans[request.key], f"'{request.key}' is asked for with different frames"
        self.everything = any(plan is None for plan, _ in self.plans.values())
        self.wanted = self.to_keep.union(*(plan for plan, _ in self.plans.values() if plan is not None))

    @staticmethod
    def _plan(request: Stream | Paired) -> tuple[Plan, bool]:
        if isinstance(request, Paired):
            return {int(index): int(match) for index, match in zip(request.indices, request.truth, strict=True)}, True
        return (None if request.indices is None else {int(index): -1 for index in request.indices}), False

    @property
    def until(self) -> int | None:
        """The last frame that a request needs (-1: none); None where one needs all."""
        return None if self.everything else max(self.wanted, default=-1)

    def furthest_truth(self, index: int) -> int:
        """The last true frame that a frame needs; -1 for none, or none any more."""
        plans = [plan for key, (plan, _) in self.plans.items() if not isinstance(self.consumers[key], NotScorable)]
        return max((plan.get(index, -1) for plan in plans if plan is not None), default=-1)

    def push(self, index: int, frame: np.ndarray, truth: _Truth) -> None:
        if index in self.to_keep:
            self.kept[index] = frame
        for key, (plan, needs_truth) in self.plans.items():
            consumer = self.consumers[key]
            if isinstance(consumer, NotScorable) or (plan is not None and index not in plan):
                continue
            alone = truth.pool is not None and not getattr(consumer, "any_thread", False)
            try:
                match = truth.frame(plan[index]) if needs_truth and plan is not None else None
                with _one_at_a_time if alone else nullcontext(), clocked(self.spent, key):
                    consumer.push(index, frame, match)
            except Exception as error:  # an error in one metric must not cost the scores of the others
                self.consumers[key] = not_scorable(error)

    def answer(self, request: Request) -> Any:
        if self.failure is not None:
            return self.failure
        if isinstance(request, Frames):
            missing = [int(index) for index in request.indices if int(index) not in self.kept]
            if missing:
                return NotScorable(Reason.TOO_SHORT, f"frame {missing[0]} is beyond the end of the clip")
            return {int(index): self.kept[int(index)] for index in request.indices}
        consumer = self.consumers[request.key]
        if isinstance(consumer, NotScorable):
            return consumer
        try:
            with clocked(self.spent, request.key):
                return consumer.finish()
        except Exception as error:
            return not_scorable(error)


class _Truth:
    """A ground truth, decoded in step with the clips that need it. A frame is kept only as long as one of them still does."""

    def __init__(self, path: Path | None, pool: Executor | None):
        self.path, self.pool = path, pool
        self.failure: NotScorable | None = None
        self.users: Counter[int] = Counter()  # true frame -> clips that still need it
        self.last = -1  # the last true frame that anybody needs
        self.window: dict[int, SharedFrame] = {}
        self.habits = Habits()
        self.frames = self._decoded()
        self.reached, self._oldest = -1, 0
        self.coming: Future[tuple[int, SharedFrame] | None] | None = None
        self.changing = Lock()

    def wanted_by(self, requests: Sequence[Request]) -> dict[int, list[int]]:
        """Note the true frames that a clip needs. Returns those that each of its frames is the last to need."""
        last: dict[int, int] = {}
        for request in requests:
            if isinstance(request, Paired):
                for index, match in zip(request.indices, request.truth, strict=True):
                    last[int(match)] = max(int(index), last.get(int(match), -1))
        self.users.update(last.keys())
        self.last = max([self.last, *last])
        found: dict[int, list[int]] = {}
        for match, index in last.items():
            found.setdefault(index, []).append(match)
        return found

    def reach(self, match: int) -> None:
        """Decode up to this frame. A pool decodes the next one while the clips use this one."""
        try:
            while self.reached < match and self.failure is None:
                found = self._next().result()
                self.coming = None
                if found is None:
                    self.failure = NotScorable(Reason.TOO_SHORT, f"the ground truth has no frame {self.reached + 1}")
                    return
                self.reached, frame = found
                with self.changing:
                    if self.reached in self.users:
                        self.window[self.reached] = frame
            if self.pool is not None and self.failure is None and self.reached < self.last:
                self._next()
        except MediaError as error:
            self.failure = NotScorable(error.reason, f"ground truth: {error}")
        except Exception as error:  # it must not cost the scores of metrics that need no truth
            self.failure = not_scorable(error)

    def oldest(self) -> int:
        """The first of the reached frames that a clip still needs; the next one if there is none."""
        while self._oldest <= self.reached and self._oldest not in self.users:
            self._oldest += 1
        return self._oldest

    def _next(self) -> Future[tuple[int, SharedFrame] | None]:
        self.coming = self.coming or _begun(self.pool, lambda: next(self.frames, None))
        return self.coming

    def _decoded(self) -> Generator[tuple[int, SharedFrame], None, None]:
        if self.path is None:
            raise NotScorable(Reason.MISSING_INPUT, "the clip has no ground-truth video")
        with open_video(self.path) as reader:
            for index, frame in reader:
                shared = frame.view(SharedFrame)
                shared.habits = self.habits
                if self.pool is not None and index in self.users:
                    self.habits.prepare(shared)
                yield index, shared

    def frame(self, match: int) -> SharedFrame:
        """A frame that was reached, and that the asking clip has not released."""
        if match in self.window:
            return self.window[match]
        raise self.failure or NotScorable(Reason.INVALID_INPUT, f"ground-truth frame {match} was asked for out of order")

    def release(self, matches: Sequence[int]) -> None:
        """One clip needs these true frames no more."""
        with self.changing:
            for match in matches:
                self.users[match] -= 1
                if not self.users[match]:
                    del self.users[match]
                    self.window.pop(match, None)

    def close(self) -> None:
        if self.coming is not None:
            wait([self.coming])
        self.frames.close()
