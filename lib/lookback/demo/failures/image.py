"""Failures of the picture itself: another style, echoes of earlier frames, melting shapes."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.demo.failures.base import Failure, failure

ECHO_LAGS, ECHO_SHARE = (4, 8), 0.30  # frames, and how much of each echo at severity 1
MELT_SHARE = 0.05  # largest displacement at severity 1, in picture widths


def _blend(plain: NDArray[np.uint8], other: NDArray, weight: float) -> NDArray[np.uint8]:
    return np.clip(np.rint(plain * (1 - weight) + other * np.float64(weight)), 0, 255).astype(np.uint8)


def painted(frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The frame as a comic: flat strong colours and dark contours."""
    smooth = frame
    for _ in range(3):
        smooth = np.asarray(cv2.bilateralFilter(smooth, 5, 60, 4))
    hsv = cv2.cvtColor(smooth, cv2.COLOR_RGB2HSV)
    hsv[..., 1] = np.clip(hsv[..., 1] * 1.8 + 20, 0, 255)
    hsv[..., 2] = (hsv[..., 2] // 43) * 43 + 30
    flat = cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)
    grey = cv2.GaussianBlur(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY), (0, 0), 0.8)
    contours = cv2.adaptiveThreshold(grey, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY, 9, 6)
    return np.asarray(cv2.bitwise_and(flat, flat, mask=contours))


@failure
class StyleShift(Failure):
    """On return the video looks like a comic."""

    name, title = "style_shift", "style change"

    def picture(self, frames: list[NDArray[np.uint8]], frame: int) -> NDArray[np.uint8]:
        weight = self.severity * self.context.weight(frame)
        return _blend(frames[frame], painted(frames[frame]), weight) if weight > 0 else frames[frame]


@failure
class Ghosting(Failure):
    """Echoes of earlier frames hang over the picture from the absence on."""

    name, title = "ghosting", "ghosting"
    needs = frozenset({"motion"})

    def picture(self, frames: list[NDArray[np.uint8]], frame: int) -> NDArray[np.uint8]:
        weight = self.severity * self.context.weight(frame) * ECHO_SHARE
        echo = np.mean([frames[max(frame - lag, 0)] for lag in ECHO_LAGS], axis=0)
        return _blend(frames[frame], echo, weight * len(ECHO_LAGS)) if weight > 0 else frames[frame]


@failure
class GeometricMelt(Failure):
    """On return straight things are bent, as if they had melted; the bends creep on with time."""

    name, title = "geometric_melt", "geometric melt"

    def displacement(self, frame: int, shape: tuple[int, int]) -> tuple[NDArray, NDArray] | None:
        weight = self.severity * self.context.weight(frame)
        if weight == 0:
            return None
        height, width = shape
        reach = MELT_SHARE * width * weight
        y, x = np.mgrid[0:height, 0:width].astype(np.float32)
        across, down, time = x / width * 2 * np.pi, y / width * 2 * np.pi, 2 * np.pi * frame / self.context.frames
        dx = 0.7 * np.sin(3.1 * down + 1.3 * time) + 0.3 * np.sin(5.3 * across + 2.2 * down + 0.7)
        dy = 0.8 * np.sin(3.7 * across + 0.9 * time + 1) + 0.4 * np.sin(4.1 * down - across)
        return (x + reach * dx).astype(np.float32), (y + reach * dy).astype(np.float32)
