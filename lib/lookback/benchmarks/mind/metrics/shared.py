"""What MIND's metrics share: how they are registered, which frames are compared, and how a frame is brought to MIND's size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Array, Variant, require_images, require_variant
from lookback.presets import presets_of
from lookback.registry import metric
from lookback.scoring import ScoringClip

PACKAGE = "lookback.benchmarks.mind"
HEIGHT, WIDTH = 720, 1280  # the size at which MIND compares all frames


def mind_metric(name: str, **declaration: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register under `mind.<name>`. A metric of several measures gives one item per measure, named in the column `phase`."""
    return metric(name=f"mind.{name}", benchmark="mind", presets=presets_of(PACKAGE, name), **declaration)


def preset(name: str, variant: Variant) -> dict[str, Any]:
    """The settings of a metric's variant, for the functions that are called without a run."""
    known = presets_of(PACKAGE, name).settings
    require_variant(variant, tuple(known))
    return dict(known[variant])


def frame_size(context: ScoringClip) -> tuple[int, int]:
    """(height, width) to which every frame is brought first."""
    return int(context.number("height")), int(context.number("width"))


def other_size(context: ScoringClip) -> str:
    """What an item says where the run brings frames to another size than MIND's; empty otherwise."""
    height, width = frame_size(context)
    return "" if (height, width) == (HEIGHT, WIDTH) else f"frames of {width}x{height} px"


def video_max_time(context: ScoringClip) -> int | None:
    """The most frames of a video that are compared, where the run sets a limit. Action accuracy has a limit of its own."""
    return int(context.number("video_max_time")) or None


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


def scored_length(n_frames: int, read_batch: int = 0) -> int:
    """How many of `n_frames` are scored: all, or all but the batch that ends the clip, which the released loop never scores.

    With its batches of 100: 81 -> 0, 100 -> 0, 101 -> 100, 162 -> 100, 250 -> 200.
    """
    return (n_frames - 1) // read_batch * read_batch if read_batch and n_frames else n_frames


def scored_frames(context: ScoringClip, n_frames: int) -> int:
    """`scored_length` of the metric's preset; NotScorable when nothing is left."""
    length = scored_length(n_frames, int(context.number("read_batch")))
    if length == 0:
        raise NotScorable(Reason.TOO_SHORT, f"{n_frames} frames leave none to score ({context.variant})")
    return length


def preprocess(frame: Array, height: int = HEIGHT, width: int = WIDTH) -> NDArray[np.float32]:
    """An RGB frame (H,W,3) as float32 in [0,1] at height x width: scaled to cover it (bilinear, no antialias), centre-cropped."""
    frame = require_images(frame, "frame", ndim=3)
    source_height, source_width = frame.shape[:2]
    scale = max(height / source_height, width / source_width)
    scaled = (max(width, round(source_width * scale)), max(height, round(source_height * scale)))
    picture: Array = frame.astype(np.float32)
    if scaled != (source_width, source_height):
        picture = cv2.resize(picture, scaled, interpolation=cv2.INTER_LINEAR)
    top, left = round((scaled[1] - height) / 2), round((scaled[0] - width) / 2)  # half to even, as torchvision's centre crop
    picture = np.ascontiguousarray(picture[top : top + height, left : left + width])
    if frame.dtype == np.uint8:
        picture *= np.float32(1.0 / 255.0)
    return picture
