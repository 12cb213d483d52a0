"""Object identity consistency: the most similar patches of the reappear frames to frame 0 (MemoBench section 3.4, eq. 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.errors import NotScorable, Reason
from lookback.metrics.shared.checks import require_finite
from lookback.metrics.shared.similarity import unit_vectors

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
