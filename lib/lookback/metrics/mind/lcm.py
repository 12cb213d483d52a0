"""Long context memory: the predicted video against the ground truth from mark_time on (MIND, `lcm`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lookback.errors import NotScorable, Reason
from lookback.metrics.mind.declare import mind_metric
from lookback.metrics.mind.frame_measures import Distance, frame_measures, lcm_length, measure_pairs, scored_length
from lookback.metrics.mind.inputs import lpips_distance, predicted_frames, scored_measures, variant_of
from lookback.metrics.mind.preprocess import preprocess
from lookback.metrics.shared.checks import Variant, require_equal_size, require_images
from lookback.scoring import Paired, ScoringClip


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


class PredictedFrames:
    """Both frames in MIND's common picture, measured; LPIPS on every `every`th pair."""

    def __init__(self, distance: Distance | None, every: int):
        self.distance, self.every = distance, every
        self.found: dict[int, dict[str, float]] = {}

    def push(self, index: int, frame: np.ndarray, truth: np.ndarray | None) -> None:
        assert truth is not None
        lpips = self.distance if len(self.found) % self.every == 0 else None
        self.found[index] = frame_measures(preprocess(frame), preprocess(truth), lpips)

    def finish(self) -> dict[int, dict[str, float]]:
        return self.found


@mind_metric(
    "lcm",
    title="Long context memory (mse, psnr, ssim, lpips)",
    unit="mse; dB; SSIM; LPIPS",
    range=(0.0, None),
    higher_is_better=True,
    needs=("video", "ground_truth", "mark_time"),
    roles=("perceptual",),
    subsets=("mem_test", "action_space_test"),
    equation="mean over frames from mark_time of mse, psnr, ssim, lpips at 720x1280",
    source="MIND, lcm",
    pixels=True,
)
def score(context: ScoringClip):
    """The prediction against the ground truth, frame by frame."""
    frames, truth = predicted_frames(context)
    length = scored_length(len(frames), variant=variant_of(context))
    if length == 0:
        raise NotScorable(Reason.TOO_SHORT, f"{len(frames)} frames leave none to score ({context.variant})")
    distance, missing = lpips_or_reason(context)
    every = int(context.constant("lpips_every", 1))
    found = yield Paired(f"lcm-{every}", lambda: PredictedFrames(distance, every), frames[:length], truth[:length])
    return scored_measures(found, missing)


def lpips_or_reason(context: ScoringClip) -> tuple[Distance | None, dict[str, NotScorable]]:
    """The LPIPS distance, or nothing and the reason: the other three measures do not need it."""
    if not context.constant("lpips", 1):
        return None, {"lpips": NotScorable(Reason.NOT_APPLICABLE, "switched off by the constant lpips: 0")}
    try:
        return lpips_distance(context), {}
    except NotScorable as reason:
        return None, {"lpips": reason}
