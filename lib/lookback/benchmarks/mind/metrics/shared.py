"""What MIND's metrics share: how they are registered, which frames are compared, and how a frame is brought to MIND's size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Array, Variant, require_variant
from lookback.registry import metric
from lookback.scoring import ScoringClip

HEIGHT, WIDTH = 720, 1280  # the size at which MIND compares all frames
BATCH = 100  # frames the released code loads at once


def mind_metric(name: str, **declaration: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register under `mind.<name>`. A metric of several measures gives one item per measure, named in the column `phase`.

    The default variant is `corrected`; `official` repeats the defects of the released code.
    """
    return metric(
        name=f"mind.{name}", benchmark="mind", variants=("corrected", "official"), default_variant="corrected", **declaration
    )


def variant_of(context: ScoringClip) -> Variant:
    return "official" if context.variant == "official" else "corrected"


def video_max_time(context: ScoringClip) -> int | None:
    """The most frames of a video that are compared, where the run sets a limit. Action accuracy uses all frames."""
    return int(context.constant("video_max_time", 0)) or None


def lcm_length(total_frames: int, mark_time: int, sample_frames: int, video_max_time: int | None = None) -> int:
    """min(total - mark, sample frames, video_max_time): how many frames can be compared."""
    limits = [total_frames - mark_time, sample_frames] + ([] if video_max_time is None else [video_max_time])
    return max(0, min(limits))


def predicted_frames(context: ScoringClip, limit: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(generated frames, ground-truth frames): the prediction starts where the memory context ends (mark_time)."""
    mark, total = context.need("mark_time"), context.need("gt_frames")
    count = lcm_length(total, mark, context.need("n_frames"), limit)
    if count == 0:
        raise NotScorable(Reason.TOO_SHORT, f"no frame follows mark_time {mark} of {total}")
    return np.arange(count), mark + np.arange(count)


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


def preprocess(frame: Array, height: int = HEIGHT, width: int = WIDTH) -> NDArray[np.float32]:
    """An RGB frame (H,W,3) as float32 in [0,1] at height x width: scaled to cover it (bilinear, no antialias), centre-cropped."""
    source_height, source_width = frame.shape[:2]
    scale = max(height / source_height, width / source_width)
    scaled = (max(width, round(source_width * scale)), max(height, round(source_height * scale)))
    picture: Array = frame.astype(np.float32)
    if scaled != (source_width, source_height):
        picture = cv2.resize(picture, scaled, interpolation=cv2.INTER_LINEAR)
    top, left = (scaled[1] - height) // 2, (scaled[0] - width) // 2
    picture = np.ascontiguousarray(picture[top : top + height, left : left + width])
    if frame.dtype == np.uint8:
        picture *= np.float32(1.0 / 255.0)
    return picture
