"""Long context memory: the predicted video against the ground truth from mark_time on (MIND, `lcm`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lookback.errors import NotScorable, Reason
from lookback.metrics.mind.frame_measures import Distance, measure_pairs, scored_length
from lookback.metrics.shared.checks import Variant, require_equal_size, require_images


def lcm_length(total_frames: int, mark_time: int, sample_frames: int, video_max_time: int | None = None) -> int:
    """min(total - mark, sample frames, video_max_time): how many frames can be compared."""
    limits = [total_frames - mark_time, sample_frames] + ([] if video_max_time is None else [video_max_time])
    return max(0, min(limits))


def lcm(
    prediction: ArrayLike,
    truth: ArrayLike,
    *,
    mark_time: int = 0,
    video_max_time: int | None = None,
    lpips: Distance | None = None,
    variant: Variant = "corrected",
) -> dict[str, Any]:
    """Per-frame mse, psnr, ssim (and lpips, given a distance) of two videos (N,H,W,3) at one size, with their means `avg_*`.

    `truth` starts at its frame `mark_time`; the comparison runs over the frames both have. Official drops the last batch of 100.
    """
    predicted, expected = require_images(prediction, "prediction"), require_images(truth, "truth")
    length = scored_length(lcm_length(len(expected), mark_time, len(predicted), video_max_time), variant=variant)
    if length == 0:
        raise NotScorable(
            Reason.TOO_SHORT, f"{len(predicted)} predicted and {len(expected)} true frames leave none to score ({variant})"
        )
    pairs = predicted[:length], expected[mark_time : mark_time + length]
    require_equal_size(*pairs, "prediction and truth")
    return measure_pairs(zip(*pairs, strict=True), lpips)


def means(result: dict[str, Any]) -> dict[str, float]:
    """The averages alone, without the per-frame lists."""
    return {
        name.removeprefix("avg_"): float(value) for name, value in result.items() if name.startswith("avg_") and np.ndim(value) == 0
    }
