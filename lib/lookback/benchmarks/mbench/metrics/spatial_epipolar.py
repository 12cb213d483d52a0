"""Spatial consistency, epipolar (MBench section 4.3.1, eq. 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lookback.benchmarks.mbench.metrics.shared import matches, mbench_metric, paired_frames
from lookback.errors import NotScorable, Reason
from lookback.measures.geometry import (
    MIN_MATCHES,
    epipolar_distances,
    fundamental_from_poses,
    require_matches,
    rotation_transfer_error,
)
from lookback.measures.scores import exp_decay
from lookback.scoring import Frames, PixelScoring, Scored, ScoringClip, Unit, mean_item


def epipolar_error(points_i: ArrayLike, points_j: ArrayLike, fundamental: ArrayLike, *, min_matches: int = MIN_MATCHES) -> float:
    """E = 1/(2N) sum_n d(p_n, F^T p'_n) + d(p'_n, F p_n), in pixels (MBench eq. 7).

    `points_i`, `points_j` are (N,2) matches, F is the fundamental matrix with p'^T F p = 0, d the distance from a point to a line.
    """
    first, second = require_matches(points_i, points_j, min_matches)
    in_i, in_j = epipolar_distances(first, second, np.asarray(fundamental, dtype=np.float64))
    return float((in_i + in_j).mean() / 2.0)


def epipolar_score(error: float, *, tau: float = 1.0) -> float:
    """exp(-E / tau): the paper has tau 1, the README's example fits 5."""
    return exp_decay(error, tau)


@mbench_metric(
    "environment.spatial_epipolar",
    title="Spatial, epipolar",
    unit="exp(-px)",
    paired=True,
    roles=("pose",),
    subsets=("environment",),
    equation="exp(-E), E = 1/2N sum d(p, F^T p') + d(p', F p)",
    source="MBench section 4.3.1, eq. 7",
    pixels=True,
)
def score(context: ScoringClip) -> PixelScoring:
    """Symmetric epipolar distance over the pairs.

    Two frames taken from one place have no epipolar line. The paper leaves such pairs out. Under `no_parallax: by_rotation` the
    camera only turned, so each point has one expected position, and the distance to it counts.
    """
    pairs = paired_frames(context)
    images = yield Frames(np.unique(pairs.frames))
    K, c2w = pairs.path.intrinsics, pairs.path.c2w
    units = []
    for row_i, row_j, first, second in pairs:
        name, note = pairs.unit_id(first, second), pairs.note
        try:
            points_i, points_j = require_matches(*matches(context, images, first, second), int(context.number("min_matches")))
            try:
                F = fundamental_from_poses(K[row_i], K[row_j], c2w[row_i], c2w[row_j])
                error = epipolar_error(points_i, points_j, F, min_matches=int(context.number("min_matches")))
            except NotScorable as reason:
                if reason.reason != Reason.NO_PARALLAX or context.setting("no_parallax") != "by_rotation":
                    raise
                error, note = (
                    rotation_transfer_error(points_i, points_j, K[row_i], K[row_j], c2w[row_i], c2w[row_j]),
                    "camera only turned",
                )
            value = epipolar_score(error, tau=context.number("epipolar_tau"))
            units.append(
                Unit(name, "pair", value, error, first, second, detail=f"{len(points_i)} matches" + (f"; {note}" if note else ""))
            )
        except NotScorable as reason:
            units.append(Unit(name, "pair", None, None, first, second, reason=reason.reason, detail=reason.detail))
    return Scored([mean_item(units)], units)
