"""Spatial consistency, epipolar (MBench section 4.3.1, eq. 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lookback.metrics.shared.checks import Variant, require_variant
from lookback.metrics.shared.correspondences import MIN_MATCHES, require_matches
from lookback.metrics.shared.epipolar import epipolar_distances
from lookback.metrics.shared.normalise import exp_decay

OFFICIAL_SCALE = 5.0  # the README's example (raw 2.964 -> 0.5523) fits exp(-E/5); the paper says exp(-E)


def epipolar_error(points_i: ArrayLike, points_j: ArrayLike, fundamental: ArrayLike, *, min_matches: int = MIN_MATCHES) -> float:
    """E = 1/(2N) sum_n d(p_n, F^T p'_n) + d(p'_n, F p_n), in pixels (MBench eq. 7).

    `points_i`, `points_j` are (N,2) matches, F is the fundamental matrix with p'^T F p = 0, d the distance from a point to a line.
    """
    first, second = require_matches(points_i, points_j, min_matches)
    in_i, in_j = epipolar_distances(first, second, np.asarray(fundamental, dtype=np.float64))
    return float((in_i + in_j).mean() / 2.0)


def epipolar_score(error: float, *, variant: Variant = "paper") -> float:
    """exp(-E) (paper), exp(-E/5) (official: fitted to the README's example)."""
    require_variant(variant, ("paper", "official"))
    return exp_decay(error, OFFICIAL_SCALE if variant == "official" else 1.0)
