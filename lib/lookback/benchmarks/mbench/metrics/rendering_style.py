"""Rendering consistency, style: Gram matrices of consecutive sampled frames (MBench section 4.3.2, eq. 13)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.artifacts import Style
from lookback.benchmarks.mbench.metrics.shared import mbench_metric
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_finite
from lookback.measures.scores import clip01
from lookback.scoring import Item, Scored, ScoringClip, Unit


def gram_matrix(features: ArrayLike) -> NDArray[np.float64]:
    """G = F F^T / (C H W) of a feature map (C,H,W), so that its size does not grow with the picture's."""
    array = require_finite(features, "features", ndim=3)
    flat = array.reshape(len(array), -1)
    return flat @ flat.T / array.size


def style_distances(gram_matrices: ArrayLike) -> NDArray[np.float64]:
    """|G_t - G_{t-1}|_F of consecutive Gram matrices (T,C,C)."""
    gram = require_finite(gram_matrices, "gram_matrices", ndim=3)
    if gram.shape[1] != gram.shape[2]:
        raise NotScorable(Reason.INVALID_INPUT, f"gram_matrices: must be (T,C,C), not {gram.shape}")
    if len(gram) < 2:
        raise NotScorable(Reason.TOO_SHORT, "one frame has no style change")
    distances: NDArray[np.float64] = np.linalg.norm(np.diff(gram, axis=0), axis=(1, 2))
    return distances


def style_consistency(gram_matrices: ArrayLike) -> float:
    """clip(1 - 1/(T-1) sum_t |G_t - G_{t-1}|_F) (MBench eq. 13)."""
    return clip01(1.0 - float(style_distances(gram_matrices).mean()))


@mbench_metric(
    "environment.rendering_style",
    title="Rendering, style",
    unit="1 - Frobenius",
    needs=("video",),
    roles=("perceptual",),
    subsets=("environment",),
    equation="clip(1 - 1/(T-1) sum_t |G_t - G_t-1|_F)",
    source="MBench section 4.3.2, eq. 13",
)
def score(context: ScoringClip) -> Scored:
    """The stored distances between consecutive sampled frames' Gram matrices."""
    style = context.artifact(Style)
    distances, frames = style.distance, style.frame_index
    units = [
        Unit(f"f{int(before)}_f{int(after)}", "pair", clip01(1.0 - float(distance)), float(distance), int(after), int(before))
        for distance, before, after in zip(distances, frames[:-1], frames[1:], strict=True)
    ]
    mean = float(np.mean(distances))
    note = f"{style.network} {style.style_layer}"
    return Scored([Item(clip01(1.0 - mean), mean, detail=note, n_units=len(units))], units)
