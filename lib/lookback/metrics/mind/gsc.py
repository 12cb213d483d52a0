"""General scene consistency: a path walked forth and back, the first half against the reversed second half (MIND, `gsc`)."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from lookback.errors import NotScorable, Reason
from lookback.metrics.mind.frame_measures import Distance, measure_pairs, scored_length
from lookback.metrics.shared.checks import Variant, require_images


def mirror_half(n_frames: int) -> int:
    """The length of each half; a mirror path has an even number of frames."""
    if n_frames == 0 or n_frames % 2:
        raise NotScorable(Reason.INVALID_INPUT, f"a mirror video needs an even number of frames, not {n_frames}")
    return n_frames // 2


def gsc(video: ArrayLike, *, lpips: Distance | None = None, variant: Variant = "corrected") -> dict[str, Any]:
    """The measures of lcm between frame i and frame N-1-i of one video (N,H,W,3), i < N/2."""
    frames = require_images(video, "video")
    length = scored_length(mirror_half(len(frames)), variant=variant)
    if length == 0:
        raise NotScorable(Reason.TOO_SHORT, f"{len(frames)} frames leave none to score ({variant})")
    return measure_pairs(zip(frames[:length], frames[::-1][:length], strict=True), lpips)
