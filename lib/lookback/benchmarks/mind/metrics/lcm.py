"""Long context memory: the predicted video against the ground truth from mark_time on (MIND, `lcm`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lookback.benchmarks.mind.metrics.declare import mind_metric
from lookback.benchmarks.mind.metrics.frame_measures import Distance, frame_measures, lcm_length, measure_pairs, scored_length
from lookback.benchmarks.mind.metrics.inputs import lpips_distance, predicted_frames, scored_measures, variant_of, video_max_time
from lookback.benchmarks.mind.metrics.preprocess import preprocess
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant, require_equal_size, require_images
from lookback.measures.fidelity import PairQueue
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


class PredictedFrames:
    """Both frames in MIND's common picture, measured; LPIPS on every `every`th pair."""

    def __init__(self, distance: Distance | None, every: int):
        self.distance, self.every = distance, every
        self.queue: PairQueue[dict[str, float]] = PairQueue()

    def push(self, index: int, frame: np.ndarray, truth: np.ndarray | None) -> None:
        assert truth is not None
        self.queue.push(index, self._with_lpips if index % self.every == 0 else _measured, frame, truth)

    def finish(self) -> dict[int, dict[str, float]]:
        return self.queue.finish()

    def _with_lpips(self, frame: np.ndarray, truth: np.ndarray) -> dict[str, float]:
        return _measured(frame, truth, self.distance)


def _measured(frame: np.ndarray, truth: np.ndarray, lpips: Distance | None = None) -> dict[str, float]:
    return frame_measures(preprocess(frame), preprocess(truth), lpips)


@mind_metric(
    "lcm",
    title="Long context memory (mse, psnr, ssim, lpips)",
    unit="mse; dB; SSIM; LPIPS",
    range=(0.0, None),
    higher_is_better=True,
    needs=("video", "ground_truth", "mark_time"),
    roles=(),
    tools=("perceptual",),
    subsets=("mem_test", "action_space_test"),
    equation="mean over frames from mark_time of mse, psnr, ssim, lpips at 720x1280",
    source="MIND, lcm",
    constants=("lpips", "lpips_every", "video_max_time"),
    differences={"official": "the loop drops its last batch of 100 frames: 81 frames give no score at all"},
    pixels=True,
)
def score(context: ScoringClip):
    """The prediction against the ground truth, frame by frame."""
    frames, truth = predicted_frames(context, video_max_time(context))
    length = scored_length(len(frames), variant=variant_of(context))
    if length == 0:
        raise NotScorable(Reason.TOO_SHORT, f"{len(frames)} frames leave none to score ({context.variant})")
    distance, missing = lpips_or_reason(context)
    every = int(context.constant("lpips_every", 1))
    found = yield Paired(f"lcm-{every}", lambda: PredictedFrames(distance, every), frames, truth)  # both variants share the pairs
    return scored_measures({int(frame): found[int(frame)] for frame in frames[:length]}, missing)


def lpips_or_reason(context: ScoringClip) -> tuple[Distance | None, dict[str, NotScorable]]:
    """The LPIPS distance, or nothing and the reason: the other three measures do not need it."""
    if not context.constant("lpips", 1):
        return None, {"lpips": NotScorable(Reason.NOT_APPLICABLE, "switched off by the constant lpips: 0")}
    try:
        return lpips_distance(context), {}
    except NotScorable as reason:
        return None, {"lpips": reason}
