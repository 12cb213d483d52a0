"""Structural similarity (Wang et al., IEEE TIP 2004): Gaussian window 11x11, sigma 1.5, K1 = 0.01, K2 = 0.03.

With s = a + b and d = a - b, blurred means m and blurred variances v = blur(x^2) - m^2,

    SSIM = (m_s^2 - m_d^2 + 2 C1)(v_s - v_d + 2 C2) / ((m_s^2 + m_d^2 + 2 C1)(v_s + v_d + 2 C2)),

which is the usual formula with four blurs instead of five, and gives the squared error on the way.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Array

WINDOW = 11
SIGMA = 1.5
K1, K2 = 0.01, 0.03
MARGIN = WINDOW // 2  # pixels whose window leaves the picture: scikit-image leaves them out of the mean, torchmetrics reflects them


class PairComparison:
    """Mean squared error and SSIM of image pairs of one shape; its buffers are reused, so a video costs no allocation per frame.

    Images are uint8 or float32, (H,W) or (H,W,C); values and `data_range` in the same unit. Not for two threads at once.
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
        """Take a pair; everything below speaks of it."""
        if a.dtype == np.uint8:
            self.mean_s[...], self.mean_d[...] = a, b  # conversion into scratch, then arithmetic in float
            a, b = self.mean_s, self.mean_d
        np.add(a, b, out=self.total)
        np.subtract(a, b, out=self.difference)

    def squared_error(self) -> float:
        """Mean of (a - b)^2 over all pixels and channels."""
        return cv2.norm(self.difference, cv2.NORM_L2SQR) / self.difference.size

    def ssim_map(self, data_range: float) -> NDArray[np.float32]:
        """SSIM at every pixel and channel. The array is a buffer: copy it to keep it. Uses up the loaded pair."""
        c1, c2 = np.float32(2.0 * (K1 * data_range) ** 2), np.float32(2.0 * (K2 * data_range) ** 2)
        s, d, mean_s, mean_d, var_s, var_d = self.total, self.difference, self.mean_s, self.mean_d, self.var_s, self.var_d
        self._blur(s, mean_s)
        self._blur(d, mean_d)
        self._blur(np.multiply(s, s, out=s), var_s)
        self._blur(np.multiply(d, d, out=d), var_d)
        np.multiply(mean_s, mean_s, out=mean_s)
        np.multiply(mean_d, mean_d, out=mean_d)
        np.subtract(var_s, mean_s, out=var_s)
        np.subtract(var_d, mean_d, out=var_d)
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
        """Mean of the map without `margin` pixels at each side. Uses up the loaded pair."""
        return mean_inside(self.ssim_map(data_range), margin)

    def _blur(self, source: NDArray[np.float32], target: NDArray[np.float32]) -> None:
        cv2.sepFilter2D(source, cv2.CV_32F, self.kernel, self.kernel, dst=target, borderType=cv2.BORDER_REFLECT_101)


def mean_inside(image: NDArray[np.float32], margin: int) -> float:
    """Mean of an image without `margin` pixels at each side."""
    height, width = image.shape[:2]
    inner = image[margin : height - margin, margin : width - margin]
    return float(sum(cv2.sumElems(inner))) / inner.size


def ssim_map(a: Array, b: Array, data_range: float) -> NDArray[np.float32]:
    """SSIM at every pixel of two images of one shape (H,W) or (H,W,C), borders reflected."""
    comparison = PairComparison(a.shape)
    comparison.load(a, b)
    return comparison.ssim_map(data_range)
