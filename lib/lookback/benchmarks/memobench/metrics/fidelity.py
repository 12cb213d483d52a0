"""Pixel fidelity against the ground truth, shared by `psnr` and `ssim` (MemoBench section 3.4, "Pixel-Level Fidelity")."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import ArrayLike

from lookback.measures.checks import Array, Variant, require_equal_size, require_images, require_variant
from lookback.measures.fidelity import ComparisonPool, peak_value, psnr_from_mse
from lookback.measures.ssim import MARGIN, mean_inside

CEILING_DB = 99.0  # PSNR of identical frames
IDENTICAL_MSE = 1e-10  # on the 0..255 scale
OFFICIAL_MAX_SIDE = 640
MARGINS: dict[Variant, int] = {"paper": MARGIN, "official": 0}

_POOL = ComparisonPool()


def to_generated_size(generated: Array, truth: Array, *, variant: Variant = "paper") -> tuple[Array, Array]:
    """The two frames at one size: the truth resized (area) to the generated frame, which official first limits to 640 px a side."""
    require_variant(variant, ("paper", "official"))
    if variant == "official":
        generated = _limit_side(generated, OFFICIAL_MAX_SIDE)
    height, width = generated.shape[:2]
    if truth.shape[:2] != (height, width):
        truth = cv2.resize(truth, (width, height), interpolation=cv2.INTER_AREA)
    return generated, truth


def frame_psnr(a: Array, b: Array) -> float:
    """10 log10(peak^2 / mse) over pixels and channels of two frames of one size, in dB; 99 for identical frames."""
    peak = peak_value(a)
    difference = a.astype(np.float32) - b.astype(np.float32) if a.dtype != np.uint8 else None
    squared = cv2.norm(a, b, cv2.NORM_L2SQR) if difference is None else cv2.norm(difference, cv2.NORM_L2SQR)
    mse = squared / a.size
    return CEILING_DB if mse * (255.0 / peak) ** 2 < IDENTICAL_MSE else min(psnr_from_mse(mse, peak), CEILING_DB)


def frame_ssim(a: Array, b: Array, *, variant: Variant = "paper") -> float:
    """SSIM of the luma of two frames of one size: 11x11 Gaussian window, sigma 1.5.

    The mean leaves out the 5 border pixels, whose window leaves the picture (paper, Wang et al.), or reflects them (official).
    """
    require_variant(variant, tuple(MARGINS))
    return frame_ssims(a, b)[variant]


def frame_ssims(a: Array, b: Array) -> dict[Variant, float]:
    """The SSIM of two frames as each variant takes its mean; the map behind them is one."""
    grey_a, grey_b = (
        cv2.cvtColor(frame if frame.dtype == np.uint8 else frame.astype(np.float32), cv2.COLOR_RGB2GRAY) for frame in (a, b)
    )
    comparison = _POOL.get(grey_a.shape)
    comparison.load(grey_a, grey_b)
    found = comparison.ssim_map(peak_value(a))
    return {variant: mean_inside(found, margin) for variant, margin in MARGINS.items()}


def mean_over_frames(measure: Callable[[Array, Array], float], a: ArrayLike, b: ArrayLike, variant: Variant) -> float:
    """The measure of two frames (H,W,3), or its mean over two videos (N,H,W,3) of one length.

    The sizes must be equal; official brings the second to the size of the first itself.
    """
    require_variant(variant, ("paper", "official"))
    ndim = max(np.ndim(a), 3)
    first, second = require_images(a, "a", ndim=min(ndim, 4)), require_images(b, "b", ndim=min(ndim, 4))
    if first.dtype != second.dtype:
        first, second = (frames / np.float32(255.0) if frames.dtype == np.uint8 else frames for frames in (first, second))
    if first.ndim == 3:
        first, second = first[None], second[None]
    if variant == "paper" or len(first) != len(second):
        require_equal_size(first, second, "frames")
    pairs = (to_generated_size(x, y, variant=variant) for x, y in zip(first, second, strict=True))
    return float(np.mean([measure(x, y) for x, y in pairs]))


def _limit_side(frame: Array, side: int) -> Array:
    height, width = frame.shape[:2]
    if max(height, width) <= side:
        return frame
    scale = side / max(height, width)
    return cv2.resize(frame, (round(width * scale), round(height * scale)), interpolation=cv2.INTER_AREA)
