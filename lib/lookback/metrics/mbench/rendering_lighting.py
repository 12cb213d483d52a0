"""Rendering consistency, lighting: brightness and colour of matching segments in CIELAB (MBench section 4.3.2, eq. 9-12)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lookback.metrics.shared.checks import require_images
from lookback.metrics.shared.color import mean_lab
from lookback.metrics.shared.normalise import exp_decay

ALPHA = 0.5  # the paper gives no value; ours
TAU = 10.0  # the paper gives no value; ours: a shift of 10 CIELAB units scores 1/e


def lighting_deviation(frames_i: ArrayLike, frames_j: ArrayLike, alpha: float = ALPHA) -> float:
    """alpha |A_i - A_j| + (1 - alpha) |c_i - c_j| of one segment pair (MBench eq. 9-11), in CIELAB units.

    A is the mean lightness L (0..100) and c the mean (a, b) of the segment's frames (T,H,W,3).
    """
    first = mean_lab(require_images(frames_i, "frames_i"))
    second = mean_lab(require_images(frames_j, "frames_j"))
    return float(alpha * abs(first[0] - second[0]) + (1.0 - alpha) * np.linalg.norm(first[1:] - second[1:]))


def lighting_score(deviation: float, *, tau: float = TAU) -> float:
    """exp(-D / tau) (MBench eq. 12)."""
    return exp_decay(deviation, tau)
