"""SSIM against the ground truth (MemoBench section 3.4)."""

from __future__ import annotations

from functools import partial

from numpy.typing import ArrayLike

from lookback.metrics.memobench.fidelity import frame_ssim, mean_over_frames
from lookback.metrics.shared.checks import Variant


def ssim(a: ArrayLike, b: ArrayLike, *, variant: Variant = "paper") -> float:
    """Structural similarity of the luma of RGB frames (H,W,3), or its mean over the frames of two videos (N,H,W,3).

    Wang et al. 2004: Gaussian window 11x11, sigma 1.5. `official` resizes `b` to the size of `a`, at most 640 px a side, and
    reflects the border; otherwise the sizes must be equal and border pixels stay out of the mean.
    """
    return mean_over_frames(partial(frame_ssim, variant=variant), a, b, variant)
