"""The maps from raw measures to scores that the papers print."""

from __future__ import annotations

import math

from lookback.errors import NotScorable, Reason


def clip01(value: float) -> float:
    """The value cut to [0,1]."""
    return min(max(float(value), 0.0), 1.0)


def exp_decay(error: float, scale: float = 1.0) -> float:
    """exp(-error / scale): 1 at no error, towards 0 as it grows (MBench eq. 7, 8, 12; MemoBench eq. 3)."""
    if not (math.isfinite(error) and error >= 0.0):
        raise NotScorable(Reason.INVALID_INPUT, f"an error must be a finite number >= 0, not {error}")
    return math.exp(-error / scale)


def range_percent(value: float, low: float, high: float) -> float:
    """N(m; a, b) = 100 * clip((m - a) / (b - a)) (MemoBench eq. 1)."""
    return 100.0 * clip01((value - low) / (high - low))


def half_cosine(cosine: float) -> float:
    """(1 + cos) / 2: a cosine mapped to [0,1]."""
    return clip01((1.0 + cosine) / 2.0)


def harmonic_mean(a: float, b: float) -> float:
    """2ab / (a + b), and 0 when both are 0."""
    return 2.0 * a * b / (a + b) if a + b > 0.0 else 0.0
