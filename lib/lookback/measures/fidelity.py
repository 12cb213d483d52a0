"""Peak signal-to-noise ratio, and pairs of videos compared frame by frame on several threads."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Generic, TypeVar

import cv2

from lookback.measures.checks import Array
from lookback.measures.ssim import PairComparison

Result = TypeVar("Result")


def psnr_from_mse(mse: float, peak: float = 1.0) -> float:
    """10 log10(peak^2 / mse) in dB; infinite when the images are identical."""
    return math.inf if mse <= 0.0 else 10.0 * math.log10(peak * peak / mse)


def peak_value(image: Array) -> float:
    """The largest value an image of this dtype can hold: 255 for uint8, 1 for float."""
    return 255.0 if image.dtype.kind == "u" else 1.0


class ComparisonPool:
    """One `PairComparison` per thread and shape, so that pairs can be compared on several threads at once."""

    def __init__(self) -> None:
        self._local = threading.local()

    def get(self, shape: tuple[int, ...]) -> PairComparison:
        held: PairComparison | None = getattr(self._local, "comparison", None)
        if held is None or held.shape != shape:
            held = self._local.comparison = PairComparison(shape)
        return held


class PairQueue(Generic[Result]):
    """Measures pairs of frames on several threads while the next ones are decoded; answers {index: result} in the order pushed.

    OpenCV and numpy release the interpreter while they work. At most a few pairs are in flight, so memory does not grow with the
    video. It takes as many threads as OpenCV may use, so that worker processes that share the cores stay within their share.
    """

    def __init__(self) -> None:
        self.threads = max(1, cv2.getNumThreads())
        self.found: dict[int, Result] = {}
        self._waiting: deque[tuple[int, Future[Result]]] = deque()

    def push(self, index: int, function: Callable[[Array, Array], Result], a: Array, b: Array) -> None:
        if self.threads == 1:
            self.found[index] = function(a, b)
            return
        self._waiting.append((index, _threads(self.threads).submit(function, a, b)))
        if len(self._waiting) > 2 * self.threads:
            self._take_oldest()

    def finish(self) -> dict[int, Result]:
        while self._waiting:
            self._take_oldest()
        return self.found

    def _take_oldest(self) -> None:
        index, future = self._waiting.popleft()
        self.found[index] = future.result()


@cache
def _threads(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="pairs")


def map_pairs(function: Callable[[Array, Array], Result], pairs: Iterable[tuple[Array, Array]]) -> list[Result]:
    """function(a, b) of every pair, in order, on several threads."""
    queue: PairQueue[Result] = PairQueue()
    for index, (a, b) in enumerate(pairs):
        queue.push(index, function, a, b)
    return list(queue.finish().values())
