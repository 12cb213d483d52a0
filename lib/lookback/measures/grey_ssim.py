"""SSIM of two grey uint8 pictures, strip by strip, so that everything stays in the processor's own cache.

The definition is that of `lookback.measures.images.PairComparison`. The Gaussian window is a narrow band of weights: blurring a
strip is one matrix product for its rows and one for its columns.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from lookback.measures.images import K1, K2, MARGIN, SIGMA, WINDOW

Floats = NDArray[np.float32]
PEAK = 255.0
STRIP = 48  # rows at a time: about 1.5 MB of buffers for a picture that is 640 px wide
ROWS, COLUMNS = 8, 16  # that one product blurs
FLOAT = 4  # bytes
WIDTHS = 8  # of pictures whose buffers a thread keeps

_of_thread = threading.local()


def grey_ssim(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> SsimMeans:
    """The mean SSIM of two grey pictures of one size, at least 11 px a side."""
    held: dict[int, GreySsim] = _of_thread.__dict__.setdefault("held", {})
    width = a.shape[1]
    if width not in held:
        if len(held) >= WIDTHS:
            held.clear()
        held[width] = GreySsim(width)
    return held[width](a, b)


def blur_weights(count: int) -> Floats:
    """(count, count + 10): row i holds the Gaussian window that starts at place i."""
    window = cv2.getGaussianKernel(WINDOW, SIGMA, cv2.CV_32F)[:, 0]
    weights = np.zeros((count, count + 2 * MARGIN), np.float32)
    for place in range(count):
        weights[place, place : place + WINDOW] = window
    return weights


@dataclass(frozen=True)
class SsimMeans:
    """The mean of the SSIM map over the whole picture, and without the border pixels whose window leaves it."""

    whole: float
    inside: float


class GreySsim:
    """SSIM of grey pictures of one width. The buffers are reused. One object serves one thread.

    The formula with s = a + b and d = a - b is that of `PairComparison`: rounding hardly changes the SSIM of like pictures.
    """

    def __init__(self, width: int):
        self.width = width
        self.padded = _whole(width, COLUMNS) + 2 * MARGIN
        self.maps = np.empty((STRIP + 2 * MARGIN, 4, self.padded), np.float32)  # s, d, s^2, d^2
        self.tall = np.empty((STRIP, 4, self.padded), np.float32)  # blurred along the columns
        self.blurred = np.empty((4, STRIP, self.padded - 2 * MARGIN), np.float32)
        self.spare = np.empty((2, STRIP + 2 * MARGIN, self.padded), np.float32)

    def __call__(self, a: NDArray[np.uint8], b: NDArray[np.uint8]) -> SsimMeans:
        height = len(a)
        first, second = self._with_border(a), self._with_border(b)
        sums = np.empty((2, height))
        for top in range(0, height, STRIP):
            rows = min(STRIP, height - top)
            self._load(first, second, top, _whole(rows, ROWS))
            self._blur(_whole(rows, ROWS))
            ssim = self._ssim(_whole(rows, ROWS))[:rows, : self.width]
            sums[0, top : top + rows] = ssim.sum(axis=1)
            sums[1, top : top + rows] = ssim[:, :MARGIN].sum(axis=1) + ssim[:, -MARGIN:].sum(axis=1)
        inside = (sums[0] - sums[1])[MARGIN:-MARGIN].sum()
        inner = (height - 2 * MARGIN) * (self.width - 2 * MARGIN)
        return SsimMeans(float(sums[0].sum()) / (height * self.width), float(inside) / inner)

    def _with_border(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Reflected at the border. Beyond it the picture is filled up to whole products; what is measured there is not counted."""
        height, width = picture.shape
        below, right = _whole(height, ROWS) - height + MARGIN, self.padded - width - MARGIN
        return np.asarray(cv2.copyMakeBorder(picture, MARGIN, below, MARGIN, right, cv2.BORDER_REFLECT_101), np.uint8)

    def _load(self, first: NDArray[np.uint8], second: NDArray[np.uint8], top: int, rows: int) -> None:
        """The four pictures that are blurred. The rows that the strip before has loaded are moved."""
        kept, end = (2 * MARGIN if top else 0), rows + 2 * MARGIN
        if top:
            self.maps[:kept] = self.maps[STRIP:]
        a, b = (self.spare[place].reshape(-1)[: (end - kept) * self.padded].reshape(-1, self.padded) for place in (0, 1))
        a[...], b[...] = first[top + kept : top + end], second[top + kept : top + end]
        total, difference, total_squared, difference_squared = (self.maps[kept:end, place] for place in range(4))
        cv2.add(a, b, dst=total)  # numpy would copy: it takes rows that lie between each other for the same memory
        cv2.subtract(a, b, dst=difference)
        cv2.multiply(total, total, dst=total_squared)
        cv2.multiply(difference, difference, dst=difference_squared)

    def _blur(self, rows: int) -> None:
        maps, tall = self._windows
        np.matmul(_ROW_WEIGHTS, maps[: rows // ROWS], out=tall[: rows // ROWS])
        wide, out = self._pieces
        np.matmul(wide[:, :, :rows], _COLUMN_WEIGHTS, out=out[:, :, :rows])

    def _ssim(self, rows: int) -> Floats:
        c1, c2 = 2.0 * (K1 * PEAK) ** 2, 2.0 * (K2 * PEAK) ** 2
        means, variances = self.blurred[:2, :rows], self.blurred[2:, :rows]
        upper, lower = (plane.reshape(-1)[: means[0].size].reshape(means[0].shape) for plane in self.spare)
        np.multiply(means, means, out=means)
        np.subtract(variances, means, out=variances)
        cv2.addWeighted(means[0], 1.0, means[1], -1.0, c1, dst=upper)
        cv2.addWeighted(means[0], 1.0, means[1], 1.0, c1, dst=lower)
        cv2.addWeighted(variances[0], 1.0, variances[1], -1.0, c2, dst=means[0])
        cv2.addWeighted(variances[0], 1.0, variances[1], 1.0, c2, dst=means[1])
        upper *= means[0]
        lower *= means[1]
        upper /= lower
        return upper

    @cached_property
    def _windows(self) -> tuple[Floats, Floats]:
        """Overlapping views: for every 8 rows of the result the 18 rows of the maps that they need."""
        row = 4 * self.padded
        maps = as_strided(self.maps, (STRIP // ROWS, ROWS + 2 * MARGIN, row), (ROWS * row * FLOAT, row * FLOAT, FLOAT))
        return maps, self.tall.reshape(STRIP // ROWS, ROWS, row)

    @cached_property
    def _pieces(self) -> tuple[Floats, Floats]:
        """Overlapping views: for every 16 columns of the result the 26 columns that they need."""
        row, width = 4 * self.padded, self.blurred.shape[2]
        count = width // COLUMNS
        wide = as_strided(
            self.tall,
            (count, 4, STRIP, COLUMNS + 2 * MARGIN),
            (COLUMNS * FLOAT, self.padded * FLOAT, row * FLOAT, FLOAT),
        )
        out = as_strided(self.blurred, (count, 4, STRIP, COLUMNS), (COLUMNS * FLOAT, STRIP * width * FLOAT, width * FLOAT, FLOAT))
        return wide, out


def _whole(size: int, part: int) -> int:
    """The size, filled up to whole parts."""
    return -(-size // part) * part


_ROW_WEIGHTS = blur_weights(ROWS)
_COLUMN_WEIGHTS = np.ascontiguousarray(blur_weights(COLUMNS).T)
