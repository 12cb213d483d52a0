"""Spatial consistency, reprojection (MBench section 4.3.1, eq. 8)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lookback.benchmarks.mbench.metrics.shared import matches, mbench_metric, paired_frames
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_finite
from lookback.measures.geometry import MIN_MATCHES, project, require_matches, triangulate
from lookback.measures.scores import exp_decay
from lookback.scoring import Frames, PixelScoring, Scored, ScoringClip, Unit, mean_item


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


def reprojection_score(error: float, *, tau: float = 1.0) -> float:
    """exp(-E / tau), in the paper with tau 1."""
    return exp_decay(error, tau)


@mbench_metric(
    "environment.spatial_reprojection",
    title="Spatial, reprojection",
    unit="exp(-px)",
    paired=True,
    roles=("pose",),
    subsets=("environment",),
    equation="exp(-E), E = 1/N sum |p - K[R|t]X|",
    source="MBench section 4.3.1, eq. 8",
    pixels=True,
)
def score(context: ScoringClip) -> PixelScoring:
    """Triangulate the matches of each pair, project them back, mean pixel error."""
    pairs = paired_frames(context)
    images = yield Frames(np.unique(pairs.frames))
    K, c2w = pairs.path.intrinsics, pairs.path.c2w
    tau, fewest = context.number("reprojection_tau"), int(context.number("min_matches"))
    units = []
    for row_i, row_j, first, second in pairs:
        name = pairs.unit_id(first, second)
        try:
            points_i, points_j = matches(context, images, first, second)
            error = reprojection_error(points_i, points_j, K[[row_i, row_j]], c2w[row_i], c2w[row_j], min_matches=fewest)
            note = f"{len(points_i)} matches" + (f"; {pairs.note}" if pairs.note else "")
            units.append(Unit(name, "pair", reprojection_score(error, tau=tau), error, first, second, detail=note))
        except NotScorable as reason:
            units.append(Unit(name, "pair", None, None, first, second, reason=reason.reason, detail=reason.detail))
    return Scored([mean_item(units)], units)
