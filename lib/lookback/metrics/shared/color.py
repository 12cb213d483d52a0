"""Colour in CIELAB."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.metrics.shared.checks import Array, unit_float


def mean_lab(frames: Array) -> NDArray[np.float64]:
    """Mean (L, a, b) over all pixels of frames (T,H,W,3): CIELAB under D65, L in 0..100, in float (8 bit would round it)."""
    means = [cv2.mean(cv2.cvtColor(unit_float(frame), cv2.COLOR_RGB2LAB))[:3] for frame in frames]
    return np.mean(means, axis=0)
