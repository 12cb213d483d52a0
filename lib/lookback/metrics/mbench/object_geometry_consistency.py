"""Object geometry: SSIM inside the object's mask of a fold pair, the return frame warped to the forward view (MBench eq. 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lookback.errors import NotScorable, Reason
from lookback.metrics.shared.checks import require_equal_size, require_images, unit_float
from lookback.metrics.shared.normalise import clip01
from lookback.metrics.shared.ssim import ssim_map


def masked_ssim_warp(image_i: ArrayLike, image_j_warped: ArrayLike, mask_i: ArrayLike, *, valid: ArrayLike | None = None) -> float:
    """SSIM(I_i * M_i, W_{j->i}(I_j) * M_i), averaged over the pixels of M_i and clipped to [0,1] (MBench eq. 4).

    Images (H,W,3), mask (H,W). `valid` marks the pixels the warp could fill; the others leave the mask. The mean runs over the mask
    alone: over the whole picture the black surround, equal by construction, would lift every score towards 1.
    """
    first = require_images(image_i, "image_i", ndim=3)
    second = require_images(image_j_warped, "image_j_warped", ndim=3)
    require_equal_size(first, second, "image_i and image_j_warped")
    mask = np.asarray(mask_i).astype(bool)
    if mask.shape != first.shape[:2]:
        raise NotScorable(Reason.SIZE_MISMATCH, f"mask_i: {mask.shape} on an image of {first.shape[:2]}")
    if valid is not None:
        mask = mask & np.asarray(valid).astype(bool)
    if not mask.any():
        raise NotScorable(Reason.NO_MASK, "the mask is empty in the forward frame, or the warp fills none of it")
    window = mask[:, :, None].astype(np.float32)
    similarity = ssim_map(unit_float(first) * window, unit_float(second) * window, data_range=1.0)
    return clip01(float(similarity[mask].mean(dtype=np.float64)))
