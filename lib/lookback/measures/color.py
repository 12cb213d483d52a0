"""Colour in CIELAB."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.measures.checks import Array


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
