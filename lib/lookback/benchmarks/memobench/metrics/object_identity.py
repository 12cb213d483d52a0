"""Object identity consistency: the most similar patches of the reappear frames to frame 0 (MemoBench section 3.4, eq. 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.artifacts import Features
from lookback.benchmarks.memobench.metrics.shared import BOTH, memobench_metric, phases
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_finite
from lookback.measures.features import unit_vectors
from lookback.scoring import Frames, Item, PixelScoring, Scored, ScoringClip, Unit

TOP_FRACTION = 0.4
ALPHA = 0.7


def top_patch_similarities(patches: ArrayLike, patches_0: ArrayLike, *, top_fraction: float = TOP_FRACTION) -> NDArray[np.float64]:
    """Cosines, clipped to [0,1], of each frame's k most similar patches (T,k): patches (T,P,D) against frame 0's (P,D)."""
    frames, anchor = require_finite(patches, "patches", ndim=3), require_finite(patches_0, "patches_0", ndim=2)
    if frames.shape[1:] != anchor.shape:
        raise NotScorable(Reason.SIZE_MISMATCH, f"patches {frames.shape[1:]} against patches_0 {anchor.shape}")
    if not 0.0 < top_fraction <= 1.0:
        raise NotScorable(Reason.INVALID_INPUT, f"top_fraction must lie in (0,1], not {top_fraction}")
    similarity = np.clip((unit_vectors(frames) * unit_vectors(anchor)).sum(axis=-1), 0.0, 1.0)
    kept = max(1, int(similarity.shape[1] * top_fraction))
    return np.sort(similarity, axis=1)[:, -kept:]


def object_identity(patches: ArrayLike, patches_0: ArrayLike, *, top_fraction: float = TOP_FRACTION, alpha: float = ALPHA) -> float:
    """alpha * mean_t mean(top) + (1 - alpha) * min_t min(top) over the top 40 % most similar patches (MemoBench eq. 4), in [0,1].

    `patches` (T,P,D) are patch tokens of the sampled R frames, `patches_0` (P,D) those of the generated first frame.
    """
    top = top_patch_similarities(patches, patches_0, top_fraction=top_fraction)
    return float(alpha * top.mean() + (1.0 - alpha) * top.min())


@memobench_metric(
    "object_identity",
    title="Object identity consistency",
    needs=("video", "d_start", "r_start"),
    roles=("features",),
    tools=("features",),
    equation="0.7 mean + 0.3 min of the top 40 % patch cosines of R frames to frame 0",
    source="MemoBench section 3.4, eq. 4",
    constants=("alpha", "top_fraction"),
    differences={"official": "a centre crop drops half of a 16:9 frame"},
    variants=BOTH,
    pixels=True,
)
def score(context: ScoringClip) -> PixelScoring:
    """Patch features of the sampled R frames against those of frame 0; official looks at the centre square only."""
    found, frames = context.artifact(Features), phases(context)
    rows = found.rows_in(frames["R"])
    if not len(rows):
        raise NotScorable(Reason.TOO_SHORT, "no sampled frame lies in R")
    chosen = found.frame_index[rows]
    if context.variant == "official":
        images = yield Frames(np.unique([0, *chosen]))
        encoder = context.backend("features")
        square = encoder.encode(np.stack([centre_square(images[int(frame)]) for frame in (0, *chosen)]))
        patches = square.picture_patches().astype(np.float64)
    else:
        patches = found.picture_patches()[[int(found.rows_at(0)[0]), *rows]].astype(np.float64)
    options = {"top_fraction": context.constant("top_fraction", TOP_FRACTION)}
    top = top_patch_similarities(patches[1:], patches[0], **options)
    units = [
        Unit(f"f{int(frame)}", "frame", float(row.mean()), float(row.min()), int(frame), phase="R")
        for frame, row in zip(chosen, top, strict=True)
    ]
    value = object_identity(patches[1:], patches[0], alpha=context.constant("alpha", ALPHA), **options)
    return Scored([Item(value, value, n_units=len(units))], units)


def centre_square(frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The largest centred square: what is left of a 16:9 frame is 9/16 of it."""
    height, width = frame.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    return frame[top : top + side, left : left + side]
