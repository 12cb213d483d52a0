"""Answer the pixel requests of clips: one decode of each video, and one of a ground truth that several clips share.

Clips are decoded in step: the one whose next frame needs the earliest true frame goes first. So a true frame is decoded once,
brought to each size once (`lookback.media.derived`), and forgotten as soon as no clip needs it any more.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lookback.errors import MediaError, NotScorable, Reason, not_scorable
from lookback.media import SharedFrame, VideoReader, open_video
from lookback.progress import inside
from lookback.scoring.contract import Consumer, Frames, Paired, Request, Stream

Spent = defaultdict[str, float]  # name -> seconds
Plan = dict[int, int] | None  # frame -> true frame (-1: none); None: every frame
DECODE = "decode"  # the seconds that belong to no request


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
    truths = {path: _Truth(path) for path in {clip.truth for clip in clips}}
    served = [_Served(clip, truths[clip.truth]) for clip in clips]
    try:
        _in_step(served)
    finally:
        for truth in truths.values():
            truth.close()
    return [[each.requests.answer(request) for request in each.asked.requests] for each in served]


def _in_step(served: Sequence[_Served]) -> None:
    """Advance the clips frame by frame, so that all of them need the truth at the same place."""
    waiting = [(-1, number) for number in range(len(served))]
    done, total = 0, sum(each.frames for each in served)
    while waiting:
        _, number = heapq.heappop(waiting)
        needed = served[number].advance()
        done += 1
        inside("frame", min(done, total), total)
        if needed is not None:
            heapq.heappush(waiting, (needed, number))


class _Served:
    """One clip on its way: decoded up to a frame that waits for its true frames."""

    def __init__(self, asked: Asked, truth: _Truth):
        self.asked, self.truth = asked, truth
        self.requests = _Requests(asked.requests, asked.spent)
        self.last_uses = truth.wanted_by(asked.requests)  # frame -> the true frames that it is the last to need
        self.frames = len(self.requests.wanted) if not self.requests.everything else asked.n_frames
        self.steps = self._decoded()

    def advance(self) -> int | None:
        """Hand on the frame that waits, and decode the next. Returns the last true frame that this one needs; None at the end."""
        before, started = sum(self.asked.spent.values()), time.perf_counter()
        needed = next(self.steps, None)
        measured = sum(self.asked.spent.values()) - before
        self.asked.spent[DECODE] += time.perf_counter() - started - measured
        return needed

    def _decoded(self) -> Iterator[int]:
        if not self.asked.requests:
            return
        try:
            with open_video(self.asked.video) as reader:
                last = self.requests.last_wanted
                for index, frame in _wanted(reader, self.requests):
                    yield self.requests.furthest_truth(index)
                    self.requests.push(index, frame, self.truth)
                    self.truth.release(self.last_uses.pop(index, ()))
                    if last is not None and index >= last:
                        break
        except MediaError as error:
            self.requests.failure = NotScorable(error.reason, str(error))
        finally:
            for matches in self.last_uses.values():  # the clip ended early
                self.truth.release(matches)


def _wanted(reader: VideoReader, requests: _Requests) -> Iterator[tuple[int, np.ndarray]]:
    """All frames if one request needs all; otherwise only the requested ones, by seeking."""
    if requests.everything or len(requests.wanted) > 0.5 * reader.info.n_frames:
        yield from reader
        return
    inside = [index for index in sorted(requests.wanted) if index < reader.info.n_frames]
    for start in range(0, len(inside), 8):
        chunk = inside[start : start + 8]
        yield from zip(chunk, reader.read(chunk), strict=True)


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
    def last_wanted(self) -> int | None:
        return None if self.everything or not self.wanted else max(self.wanted)

    def furthest_truth(self, index: int) -> int:
        """The last true frame that a frame needs; -1 for none."""
        return max((plan.get(index, -1) for plan, _ in self.plans.values() if plan is not None), default=-1)

    def push(self, index: int, frame: np.ndarray, truth: _Truth) -> None:
        if index in self.to_keep:
            self.kept[index] = frame
        for key, (plan, needs_truth) in self.plans.items():
            consumer = self.consumers[key]
            if isinstance(consumer, NotScorable) or (plan is not None and index not in plan):
                continue
            try:
                match = truth.frame(plan[index]) if needs_truth and plan is not None else None
                with clocked(self.spent, key):
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

    def __init__(self, path: Path | None):
        self.path = path
        self.failure: NotScorable | None = None
        self.users: Counter[int] = Counter()  # true frame -> clips that still need it
        self.window: dict[int, SharedFrame] = {}
        self.sizes: set[tuple[int, int]] = set()  # that the clips have asked its frames for
        self.reader: VideoReader | None = None
        self.stream: Iterator[tuple[int, np.ndarray]] = iter(())

    def wanted_by(self, requests: Sequence[Request]) -> dict[int, list[int]]:
        """Note the true frames that a clip needs. Returns those that each of its frames is the last to need."""
        last: dict[int, int] = {}
        for request in requests:
            if isinstance(request, Paired):
                for index, match in zip(request.indices, request.truth, strict=True):
                    last[int(match)] = max(int(index), last.get(int(match), -1))
        self.users.update(last.keys())
        found: dict[int, list[int]] = {}
        for match, index in last.items():
            found.setdefault(index, []).append(match)
        return found

    def frame(self, match: int) -> SharedFrame:
        if self.failure is not None:
            raise self.failure
        try:
            self._open()
            while match not in self.window:
                index, frame = next(self.stream)
                if index in self.users:
                    self.window[index] = frame.view(SharedFrame)
                    self.window[index].sizes = self.sizes
                if index > match:
                    raise NotScorable(Reason.INVALID_INPUT, f"ground-truth frame {match} was asked for out of order")
        except StopIteration:
            raise NotScorable(Reason.TOO_SHORT, f"the ground truth has no frame {match}") from None
        except MediaError as error:
            self.failure = NotScorable(error.reason, f"ground truth: {error}")
            raise self.failure from None
        return self.window[match]

    def _open(self) -> None:
        if self.path is None:
            raise NotScorable(Reason.MISSING_INPUT, "the clip has no ground-truth video")
        if self.reader is None:
            self.reader = open_video(self.path)
            self.stream = iter(self.reader)

    def release(self, matches: Sequence[int]) -> None:
        """One clip needs these true frames no more."""
        for match in matches:
            self.users[match] -= 1
            if not self.users[match]:
                del self.users[match]
                self.window.pop(match, None)

    def close(self) -> None:
        if self.reader is not None:
            self.reader.close()
