"""Two pictures compared: mean colour, squared error, PSNR and SSIM, and a queue that measures many pairs on several threads."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Generic, TypeVar

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Array, require_equal_size, require_images, unit_float
from lookback.threads import in_thread_pool, thread_count, thread_pool


def linear_light(srgb: Array) -> NDArray[np.float32]:
    """sRGB values in [0,1] or uint8 as linear light (IEC 61966-2-1)."""
    if srgb.dtype == np.uint8:
        return _LINEAR_OF_BYTE[srgb]
    value = np.clip(srgb, 0.0, 1.0).astype(np.float32)
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4).astype(np.float32)


_LINEAR_OF_BYTE = linear_light(np.arange(256) / 255.0)


def mean_lab(frames: Array) -> NDArray[np.float64]:
    """Mean (L, a, b) over all pixels of frames (T,H,W,3): CIELAB under D65, L in 0..100, in float (8 bit would round it).

    OpenCV converts linear light exactly; its direct sRGB conversion interpolates a table and is off by up to 0.4.
    """
    means = [cv2.mean(cv2.cvtColor(linear_light(frame), cv2.COLOR_LRGB2LAB))[:3] for frame in frames]
    return np.mean(means, axis=0)


WINDOW = 11
SIGMA = 1.5
K1, K2 = 0.01, 0.03
IDENTICAL_DB, IDENTICAL_MSE = 99.0, 1e-10 / 255.0**2  # MemoBench's PSNR of frames whose squared error in [0,1] is below this
MARGIN = WINDOW // 2  # pixels whose window leaves the picture: scikit-image leaves them out of the mean, torchmetrics reflects them


class PairComparison:
    """Mean squared error and SSIM of image pairs of one shape. The buffers are reused, so a video costs no allocation per frame.

    SSIM is that of Wang et al. (IEEE TIP 2004): Gaussian window 11x11, sigma 1.5, K1 = 0.01, K2 = 0.03. With s = a + b and
    d = a - b, blurred means m and blurred variances v = blur(x^2) - m^2,

        SSIM = (m_s^2 - m_d^2 + 2 C1)(v_s - v_d + 2 C2) / ((m_s^2 + m_d^2 + 2 C1)(v_s + v_d + 2 C2)).

    This equals the usual formula with four blurs instead of five, and gives the squared error on the way.

    Images are uint8 or float32, (H,W) or (H,W,C); values and `data_range` in the same unit. One object serves one thread.
    """

    def __init__(self, shape: tuple[int, ...]):
        if min(shape[:2]) < WINDOW:
            raise NotScorable(
                Reason.INVALID_INPUT, f"an image of {shape[1]}x{shape[0]} is smaller than the {WINDOW}x{WINDOW} window of SSIM"
            )
        self.shape = shape
        self.kernel = cv2.getGaussianKernel(WINDOW, SIGMA, cv2.CV_32F)
        self.total, self.difference, self.mean_s, self.mean_d, self.var_s, self.var_d = (
            np.empty(shape, np.float32) for _ in range(6)
        )

    def load(self, a: Array, b: Array) -> None:
        """Set the pair that the methods below measure."""
        if a.dtype == np.uint8:
            self.mean_s[...], self.mean_d[...] = a, b  # conversion into scratch, then arithmetic in float
            a, b = self.mean_s, self.mean_d
        np.add(a, b, out=self.total)
        np.subtract(a, b, out=self.difference)

    def squared_error(self) -> float:
        """Mean of (a - b)^2 over all pixels and channels."""
        return cv2.norm(self.difference, cv2.NORM_L2SQR) / self.difference.size

    def ssim_map(self, data_range: float) -> NDArray[np.float32]:
        """SSIM at every pixel and channel. The array is a buffer: copy it to keep it. Load the pair again before the next call."""
        c1, c2 = np.float32(2.0 * (K1 * data_range) ** 2), np.float32(2.0 * (K2 * data_range) ** 2)
        s, d, mean_s, mean_d, var_s, var_d = self.total, self.difference, self.mean_s, self.mean_d, self.var_s, self.var_d
        middle = np.float32(data_range)  # of s; squares of the smaller numbers around it lose less to rounding
        s -= middle
        self._blur(s, mean_s)
        self._blur(d, mean_d)
        self._blur(np.multiply(s, s, out=s), var_s)
        self._blur(np.multiply(d, d, out=d), var_d)
        var_s -= np.multiply(mean_s, mean_s, out=s)
        np.multiply(mean_d, mean_d, out=mean_d)
        var_d -= mean_d
        mean_s += middle
        mean_s *= mean_s
        mean_s += c1
        var_s += c2
        np.subtract(mean_s, mean_d, out=s)
        np.subtract(var_s, var_d, out=d)
        s *= d
        mean_s += mean_d
        var_s += var_d
        mean_s *= var_s
        s /= mean_s
        return s

    def ssim(self, data_range: float, margin: int = 0) -> float:
        """Mean of the map without `margin` pixels at each side. Load the pair again before the next call."""
        return mean_inside(self.ssim_map(data_range), margin)

    def _blur(self, source: NDArray[np.float32], target: NDArray[np.float32]) -> None:
        cv2.sepFilter2D(source, cv2.CV_32F, self.kernel, self.kernel, dst=target, borderType=cv2.BORDER_REFLECT_101)


def mean_inside(image: NDArray[np.float32], margin: int) -> float:
    """Mean of an image without `margin` pixels at each side."""
    height, width = image.shape[:2]
    inner = image[margin : height - margin, margin : width - margin]
    # numpy's sum does not depend on how many threads there are; OpenCV's differs in the last bit
    return float(inner.sum(dtype=np.float64)) / inner.size


def ssim_map(a: Array, b: Array, data_range: float) -> NDArray[np.float32]:
    """SSIM at every pixel of two images of one shape (H,W) or (H,W,C), borders reflected."""
    comparison = PairComparison(a.shape)
    comparison.load(a, b)
    return comparison.ssim_map(data_range)


Result = TypeVar("Result")


def psnr_from_mse(mse: float, peak: float = 1.0) -> float:
    """10 log10(peak^2 / mse) in dB; infinite when the images are identical."""
    return math.inf if mse <= 0.0 else 10.0 * math.log10(peak * peak / mse)


def mean_squared_error(a: ArrayLike, b: ArrayLike) -> float:
    """Mean of (a - b)^2 over two pictures (H,W,3) or videos (N,H,W,3); uint8, or float in [0,1]. In units of [0,1]."""
    first, second = (require_images(value, name, min(max(np.ndim(value), 3), 4)) for value, name in ((a, "a"), (b, "b")))
    require_equal_size(first, second, "frames")
    return float(np.mean((unit_float(first) - unit_float(second)) ** 2, dtype=np.float64))


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
    """Measures pairs of frames on several threads while the next ones are decoded. The result is {index: result}, in order.

    Only a few pairs are held at a time, so memory does not grow with the video. A thread of the pool measures its pair itself.
    """

    def __init__(self) -> None:
        self.found: dict[int, Result] = {}
        self._waiting: deque[tuple[int, Future[Result]]] = deque()

    def push(self, index: int, function: Callable[[Array, Array], Result], a: Array, b: Array) -> None:
        if thread_count() == 1 or in_thread_pool():
            self.found[index] = function(a, b)
            return
        self._waiting.append((index, thread_pool().submit(function, a, b)))
        if len(self._waiting) > 2 * thread_count():
            self._take_oldest()

    def finish(self) -> dict[int, Result]:
        while self._waiting:
            self._take_oldest()
        return self.found

    def _take_oldest(self) -> None:
        index, future = self._waiting.popleft()
        self.found[index] = future.result()


def map_pairs(function: Callable[[Array, Array], Result], pairs: Iterable[tuple[Array, Array]]) -> list[Result]:
    """function(a, b) of every pair, in order, on several threads."""
    queue: PairQueue[Result] = PairQueue()
    for index, (a, b) in enumerate(pairs):
        queue.push(index, function, a, b)
    return list(queue.finish().values())
