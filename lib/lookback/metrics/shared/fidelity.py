"""Peak signal-to-noise ratio, and pairs of videos compared frame by frame on several threads."""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from lookback.metrics.shared.checks import Array
from lookback.metrics.shared.ssim import PairComparison

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


def map_pairs(
    function: Callable[[Array, Array], Result], pairs: Iterable[tuple[Array, Array]], workers: int | None = None
) -> Iterator[Result]:
    """function(a, b) of every pair, in order, on `workers` threads (all cores when None).

    At most a few pairs are in flight, so memory does not grow with the video. OpenCV and numpy release the interpreter while they
    work.
    """
    count = workers or os.cpu_count() or 1
    if count == 1:
        yield from (function(a, b) for a, b in pairs)
        return
    with ThreadPoolExecutor(count) as pool:
        waiting: deque[Future[Result]] = deque()
        for a, b in pairs:
            waiting.append(pool.submit(function, a, b))
            if len(waiting) > 2 * count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
