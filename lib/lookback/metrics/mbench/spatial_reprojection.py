"""Spatial consistency, reprojection (MBench section 4.3.1, eq. 8)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lookback.errors import NotScorable, Reason
from lookback.metrics.shared.checks import require_finite
from lookback.metrics.shared.correspondences import MIN_MATCHES, require_matches
from lookback.metrics.shared.normalise import exp_decay
from lookback.metrics.shared.triangulation import project, triangulate


def reprojection_error(
    points_i: ArrayLike, points_j: ArrayLike, K: ArrayLike, c2w_i: ArrayLike, c2w_j: ArrayLike, *, min_matches: int = MIN_MATCHES
) -> float:
    """E = (1/N) sum_n |p_n - K[R|t]X_n|, in pixels, averaged over the two frames (MBench eq. 8).

    X_n is triangulated from the match (linear DLT in normalised coordinates). K is (3,3), or (2,3,3) when the frames differ.
    """
    first, second = require_matches(points_i, points_j, min_matches)
    intrinsics = require_finite(K, "K")
    if intrinsics.shape not in {(3, 3), (2, 3, 3)}:
        raise NotScorable(Reason.INVALID_INPUT, f"K: must be (3,3) or (2,3,3), not {intrinsics.shape}")
    K_i, K_j = intrinsics if intrinsics.ndim == 3 else (intrinsics, intrinsics)
    points = triangulate(first, second, K_i, K_j, c2w_i, c2w_j)
    error_i = np.linalg.norm(first - project(points, K_i, c2w_i), axis=1)
    error_j = np.linalg.norm(second - project(points, K_j, c2w_j), axis=1)
    return float((error_i.mean() + error_j.mean()) / 2.0)


def reprojection_score(error: float) -> float:
    """exp(-E)."""
    return exp_decay(error)
