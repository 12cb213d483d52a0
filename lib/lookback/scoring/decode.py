"""Answer every pixel request of a clip from one decode of the video and one of its ground truth, and measure the time it takes."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lookback.errors import MediaError, NotScorable, Reason, not_scorable
from lookback.media import VideoReader, open_video
from lookback.scoring.contract import Consumer, Frames, Paired, Request, Stream

Spent = defaultdict[str, float]  # name -> seconds


@contextmanager
def clocked(spent: Spent, name: str) -> Iterator[None]:
    """Add the time of the block to `name`."""
    started = time.perf_counter()
    try:
        yield
    finally:
        spent[name] += time.perf_counter() - started


def serve(video: Path, truth: Path | None, requests: Sequence[Request], spent: Spent) -> list[Any]:
    """The answers in the order of the requests. A request that cannot be answered gets a NotScorable with the reason.

    `spent` receives the seconds of each key's consumer.
    """
    pending = _Requests(requests, spent)
    if not requests:
        return []
    counterpart = _Counterpart(truth, [request for request in requests if isinstance(request, Paired)])
    try:
        with open_video(video) as reader:
            last = pending.last_wanted
            for index, frame in _wanted(reader, pending):
                pending.push(index, frame, counterpart)
                if last is not None and index >= last:
                    break
    except MediaError as error:
        pending.fail(NotScorable(error.reason, str(error)))
    finally:
        counterpart.close()
    return [pending.answer(request) for request in requests]


def _wanted(reader: VideoReader, pending: _Requests) -> Iterator[tuple[int, np.ndarray]]:
    """All frames if one request needs all; otherwise only the requested ones, by seeking."""
    if pending.everything or len(pending.wanted) > 0.5 * reader.info.n_frames:
        yield from reader
        return
    inside = [index for index in sorted(pending.wanted) if index < reader.info.n_frames]
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
        self.plans: dict[str, tuple[dict[int, int] | None, bool]] = {}  # key -> (frame -> truth frame or -1, needs truth)
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
    def _plan(request: Stream | Paired) -> tuple[dict[int, int] | None, bool]:
        if isinstance(request, Paired):
            return {int(index): int(match) for index, match in zip(request.indices, request.truth, strict=True)}, True
        return (None if request.indices is None else {int(index): -1 for index in request.indices}), False

    @property
    def last_wanted(self) -> int | None:
        return None if self.everything or not self.wanted else max(self.wanted)

    def push(self, index: int, frame: np.ndarray, counterpart: _Counterpart) -> None:
        if index in self.to_keep:
            self.kept[index] = frame
        for key, (plan, needs_truth) in self.plans.items():
            consumer = self.consumers[key]
            if isinstance(consumer, NotScorable) or (plan is not None and index not in plan):
                continue
            try:
                match = counterpart.frame(plan[index]) if needs_truth and plan is not None else None
                with clocked(self.spent, key):
                    consumer.push(index, frame, match)
            except Exception as error:  # an error in one metric must not cost the scores of the others
                self.consumers[key] = not_scorable(error)
        counterpart.forget_before(index)

    def fail(self, reason: NotScorable) -> None:
        self.failure = reason

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


class _Counterpart:
    """The ground truth, decoded in step with the clip. A frame is kept only as long as it is still needed."""

    def __init__(self, path: Path | None, requests: Sequence[Paired]):
        self.failure: NotScorable | None = None
        self.window: dict[int, np.ndarray] = {}
        self.needed_until: dict[int, int] = {}  # truth frame -> last clip frame that needs it
        self.reader: VideoReader | None = None
        for request in requests:
            for index, match in zip(request.indices, request.truth, strict=True):
                self.needed_until[int(match)] = max(int(index), self.needed_until.get(int(match), -1))
        if requests and path is None:
            self.failure = NotScorable(Reason.MISSING_INPUT, "the clip has no ground-truth video")
        elif requests and path is not None:
            try:
                self.reader = open_video(path)
                self.stream = iter(self.reader)
            except MediaError as error:
                self.failure = NotScorable(error.reason, f"ground truth: {error}")

    def frame(self, match: int) -> np.ndarray:
        if self.failure is not None:
            raise self.failure
        try:
            while match not in self.window:
                index, frame = next(self.stream)
                if index in self.needed_until:
                    self.window[index] = frame
                if index > match:
                    raise NotScorable(Reason.INVALID_INPUT, f"ground-truth frame {match} was asked for out of order")
        except StopIteration:
            raise NotScorable(Reason.TOO_SHORT, f"the ground truth has no frame {match}") from None
        except MediaError as error:
            self.failure = NotScorable(error.reason, f"ground truth: {error}")
            raise self.failure from None
        return self.window[match]

    def forget_before(self, index: int) -> None:
        for match in [match for match in self.window if self.needed_until[match] <= index]:
            del self.window[match]

    def close(self) -> None:
        if self.reader is not None:
            self.reader.close()
