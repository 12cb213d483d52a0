"""The four measures of lcm and gsc, frame by frame: mse, psnr, ssim and, where a backend gives it, lpips."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Array, Variant, require_variant, unit_float
from lookback.measures.fidelity import ComparisonPool, map_pairs, psnr_from_mse

BATCH = 100  # frames the released code loads at once
Distance = Callable[[Array, Array], float]

_POOL = ComparisonPool()


def scored_length(n_frames: int, *, variant: Variant = "corrected") -> int:
    """How many of `n_frames` are scored: all, or (official) all but the last batch of 100, which the released loop drops.

    81 -> 0, 162 -> 100, 250 -> 200. A last batch of a single frame stops the released code with an error.
    """
    require_variant(variant, ("corrected", "official"))
    if variant == "corrected":
        return n_frames
    if n_frames % BATCH == 1:
        raise NotScorable(Reason.UNDEFINED, f"official: the released code crashes on a last batch of one frame ({n_frames} frames)")
    return max(0, (n_frames - 1) // BATCH) * BATCH


def lcm_length(total_frames: int, mark_time: int, sample_frames: int, video_max_time: int | None = None) -> int:
    """min(total - mark, sample frames, video_max_time): how many frames can be compared."""
    limits = [total_frames - mark_time, sample_frames] + ([] if video_max_time is None else [video_max_time])
    return max(0, min(limits))


def frame_measures(a: Array, b: Array, lpips: Distance | None = None) -> dict[str, float]:
    """mse, psnr (peak 1), ssim (RGB, torchmetrics' defaults) and lpips of two frames (H,W,3) in [0,1].

    torchmetrics' default data range is that of the pair: max(max a - min a, max b - min b). Identical constant frames have none,
    and are as similar as can be.
    """
    first, second = unit_float(a), unit_float(b)
    comparison = _POOL.get(first.shape)
    comparison.load(first, second)
    mse = comparison.squared_error()
    data_range = max(float(np.ptp(first)), float(np.ptp(second)))
    similarity = comparison.ssim(data_range) if data_range > 0.0 else _constant_similarity(mse)
    measures = {"mse": mse, "psnr": psnr_from_mse(mse), "ssim": similarity}
    return measures if lpips is None else {**measures, "lpips": float(lpips(first, second))}


def _constant_similarity(mse: float) -> float:
    if mse > 0.0:
        raise NotScorable(Reason.UNDEFINED, "two different constant frames have no data range for SSIM")
    return 1.0


def measure_pairs(pairs: Iterable[tuple[Array, Array]], lpips: Distance | None = None) -> dict[str, Any]:
    """The measures of every pair and their means, under the names of MIND's Result.json: mse, avg_mse, ..., and length."""
    rows = map_pairs(lambda a, b: frame_measures(a, b, lpips), pairs)
    if not rows:
        raise NotScorable(Reason.TOO_SHORT, "no frame is left to score")
    result: dict[str, Any] = {"length": len(rows)}
    for name in rows[0]:
        values: NDArray[np.float64] = np.array([row[name] for row in rows])
        result[name] = values
        result[f"avg_{name}"] = float(values.mean())
    return result
