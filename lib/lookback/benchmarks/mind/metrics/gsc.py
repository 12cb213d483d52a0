"""General scene consistency: a path walked forth and back, the first half against the reversed second half (MIND, `gsc`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lookback.benchmarks.mind.metrics.declare import mind_metric
from lookback.benchmarks.mind.metrics.frame_measures import Distance, frame_measures, measure_pairs, scored_length
from lookback.benchmarks.mind.metrics.inputs import scored_measures, variant_of, video_max_time
from lookback.benchmarks.mind.metrics.lcm import lpips_or_reason
from lookback.benchmarks.mind.metrics.preprocess import preprocess
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant, require_images
from lookback.scoring import Frames, ScoringClip


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


@mind_metric(
    "gsc",
    title="General scene consistency (mse, psnr, ssim, lpips)",
    unit="mse; dB; SSIM; LPIPS",
    range=(0.0, None),
    higher_is_better=True,
    needs=("video",),
    roles=(),
    tools=("perceptual",),
    subsets=("mirror_test",),
    equation="the measures of lcm between frame i and frame N-1-i",
    source="MIND, gsc",
    constants=("lpips_every", "video_max_time"),
    differences={"official": "the loop drops its last batch of 100 frames"},
    pixels=True,
)
def score(context: ScoringClip):
    """The way out against the way back, mirrored."""
    count = context.need("n_frames")
    half = mirror_half(count)
    length = scored_length(min(half, video_max_time(context) or half), variant=variant_of(context))
    if length == 0:
        raise NotScorable(Reason.TOO_SHORT, f"{count} frames leave none to score ({context.variant})")
    distance, missing = lpips_or_reason(context)
    every = int(context.constant("lpips_every", 1))
    images = yield Frames(np.concatenate([np.arange(length), np.arange(count - length, count)]))
    found = {
        index: frame_measures(
            preprocess(images[index]), preprocess(images[count - 1 - index]), distance if index % every == 0 else None
        )
        for index in range(length)
    }
    return scored_measures(found, missing)
