"""Long context memory (`lcm`) and general scene consistency (`gsc`): mse, psnr, ssim and lpips of pairs of frames.

`lcm` compares the predicted video with the ground truth from mark_time on. `gsc` compares the first half of a video with its
reversed second half: the camera goes out and comes back the same way. All frames are brought to 720x1280 first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.benchmarks.mind.metrics.shared import (
    HEIGHT,
    WIDTH,
    frame_size,
    lcm_length,
    mind_metric,
    other_size,
    predicted_frames,
    preprocess,
    preset,
    scored_frames,
    scored_length,
    video_max_time,
)
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Array, Variant, require_equal_size, require_images, unit_float
from lookback.measures.images import ComparisonPool, PairQueue, map_pairs, psnr_from_mse
from lookback.media import derived
from lookback.scoring import Frames, Item, Paired, PixelScoring, Scored, ScoringClip, Unit
from lookback.scoring.sampling import lpips_step, sampled_words

MEASURES = ("mse", "psnr", "ssim", "lpips")
Distance = Callable[[Array, Array], float]

_POOL = ComparisonPool()


# -- two frames -----------------------------------------------------------------------------------------------------------------
def frame_measures(a: Array, b: Array, lpips: Distance | None = None, data_range: float = 1.0) -> dict[str, float]:
    """mse, psnr, ssim (RGB, torchmetrics' defaults but for the given data range) and lpips of two frames (H,W,3) in [0,1]."""
    first, second = unit_float(a), unit_float(b)
    comparison = _POOL.get(first.shape)
    comparison.load(first, second)
    mse = comparison.squared_error()
    measures = {"mse": mse, "psnr": psnr_from_mse(mse, data_range), "ssim": comparison.ssim(data_range)}
    return measures if lpips is None else {**measures, "lpips": float(lpips(first, second))}


# -- functional twins -----------------------------------------------------------------------------------------------------------
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

    `truth` starts at its frame `mark_time`; the comparison runs over the frames both have. Official leaves out the batch of 100
    that ends the clip.
    """
    predicted, expected = require_images(prediction, "prediction"), require_images(truth, "truth")
    limit = lcm_length(len(expected), mark_time, len(predicted), video_max_time)
    chosen = preset("lcm", variant)
    length = scored_length(limit, chosen["read_batch"])
    if length == 0:
        raise NotScorable(
            Reason.TOO_SHORT, f"{len(predicted)} predicted and {len(expected)} true frames leave none to score ({variant})"
        )
    pairs = predicted[:length], expected[mark_time : mark_time + length]
    require_equal_size(*pairs, "prediction and truth")
    return measure_pairs(zip(*pairs, strict=True), chosen["identical"] == "left_out", lpips)


def gsc(video: ArrayLike, *, lpips: Distance | None = None, variant: Variant = "corrected") -> dict[str, Any]:
    """The measures of lcm between frame i and frame N-1-i of one video (N,H,W,3), i < N/2.

    Official works in batches of 10 and fails on a batch of one frame.
    """
    frames = require_images(video, "video")
    chosen = preset("gsc", variant)
    length = mirror_half(len(frames), chosen["work_batch"])
    return measure_pairs(zip(frames[:length], frames[::-1][:length], strict=True), chosen["identical"] == "left_out", lpips)


def mirror_half(n_frames: int, work_batch: int = 0) -> int:
    """The length of each half; a mirror path has an even number of frames.

    The released code measures `work_batch` pairs at a time. torchmetrics turns the result of a single pair into a plain number, and
    the code then stops: halves of 1, 11, 21, ..., 81 frames have no official score.
    """
    if n_frames == 0 or n_frames % 2:
        raise NotScorable(Reason.INVALID_INPUT, f"a mirror video needs an even number of frames, not {n_frames}")
    half = n_frames // 2
    if work_batch and half % work_batch == 1:
        raise NotScorable(
            Reason.UNDEFINED, f"official: the released code fails on halves of {half} frames (a last batch of one frame)"
        )
    return half


def measure_pairs(pairs: Iterable[tuple[Array, Array]], identical_left_out: bool, lpips: Distance | None = None) -> dict[str, Any]:
    """The measures of every pair and their means, under the names of MIND's Result.json: mse, avg_mse, ..., and length.

    Identical frames have an infinite PSNR, which is left out of the mean or makes it infinite.
    """
    rows = map_pairs(lambda a, b: frame_measures(a, b, lpips), pairs)
    if not rows:
        raise NotScorable(Reason.TOO_SHORT, "no frame is left to score")
    result: dict[str, Any] = {"length": len(rows)}
    for name in rows[0]:
        values: NDArray[np.float64] = np.array([row[name] for row in rows])
        result[name] = values
        finite = values[np.isfinite(values)]
        result[f"avg_{name}"] = float((finite if identical_left_out and finite.size else values).mean())
    return result


# -- the two metrics ------------------------------------------------------------------------------------------------------------
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
    pixels=True,
    phases=MEASURES,
)
def score_lcm(context: ScoringClip) -> PixelScoring:
    """The prediction against the ground truth, frame by frame."""
    frames, truth = predicted_frames(context, video_max_time(context))
    length = scored_frames(context, len(frames))
    measure, missing = measure_or_reason(context)
    every = lpips_step(context)
    key = f"lcm-{every}-{measure.key}"  # both variants share the pairs
    found = yield Paired(key, lambda: MeasuredPairs(measure, every), frames, truth)
    chosen = {int(frame): found[int(frame)] for frame in frames[:length]}
    return scored_measures(chosen, missing, context.setting("identical") == "left_out", sampled_words(every), other_size(context))


@dataclass(frozen=True)
class PairMeasure:
    """Brings both frames of a pair to MIND's size and measures them."""

    height: int = HEIGHT
    width: int = WIDTH
    data_range: float = 1.0
    distance: Distance | None = None

    @property
    def key(self) -> str:
        return f"{self.height}x{self.width}-{self.data_range:g}"

    def __call__(self, frame: Array, truth: Array, with_lpips: bool) -> dict[str, float]:
        size = self.height, self.width
        first = preprocess(frame, *size)
        second = derived(truth, ("preprocessed", size), lambda whole: preprocess(whole, *size), usual=True)
        return frame_measures(first, second, self.distance if with_lpips else None, self.data_range)


class MeasuredPairs:
    """Measures pairs of frames on several threads, with LPIPS for every `every`th pair."""

    any_thread = True

    def __init__(self, measure: PairMeasure, every: int):
        self.measure, self.every = measure, every
        self.queue: PairQueue[dict[str, float]] = PairQueue()

    def push(self, index: int, frame: Array, truth: Array | None) -> None:
        assert truth is not None
        self.queue.push(index, partial(self.measure, with_lpips=index % self.every == 0), frame, truth)

    def finish(self) -> dict[int, dict[str, float]]:
        return self.queue.finish()


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
    pixels=True,
    phases=MEASURES,
)
def score_gsc(context: ScoringClip) -> PixelScoring:
    """The way out against the way back, in reversed order."""
    count = context.need("n_frames")
    half = mirror_half(count, int(context.number("work_batch")))
    length = half if context.setting("whole_video") else min(half, video_max_time(context) or half)
    measure, missing = measure_or_reason(context)
    every = lpips_step(context)
    images = yield Frames(np.concatenate([np.arange(length), np.arange(count - length, count)]))
    found = {index: measure(images[index], images[count - 1 - index], index % every == 0) for index in range(length)}
    return scored_measures(found, missing, context.setting("identical") == "left_out", sampled_words(every), other_size(context))


def measure_or_reason(context: ScoringClip) -> tuple[PairMeasure, dict[str, NotScorable]]:
    """How a pair is measured. Where LPIPS cannot be, the reason stands beside it: the other three measures do not need it."""
    distance, missing = lpips_or_reason(context)
    return PairMeasure(*frame_size(context), context.number("data_range"), distance), missing


def lpips_or_reason(context: ScoringClip) -> tuple[Distance | None, dict[str, NotScorable]]:
    """The distance of LPIPS, or None and the reason."""
    if not context.number("lpips"):
        return None, {"lpips": NotScorable(Reason.NOT_APPLICABLE, "switched off by the constant lpips: 0")}
    network = context.setting("network")
    try:
        perceptual = context.backend("perceptual")
    except NotScorable as reason:
        return None, {"lpips": reason}
    return lambda a, b: float(perceptual.distance(a[None], b[None], network)[0]), {}


def scored_measures(
    per_frame: dict[int, dict[str, float]],
    missing: dict[str, NotScorable],
    identical_left_out: bool,
    sampled: str = "",
    sized: str = "",
) -> Scored:
    """One item per measure and one unit per frame and measure. `sampled` says of which frames LPIPS was taken, `sized` at
    which size all measures were.

    Identical frames have an infinite PSNR. They are left out of the mean and counted; officially they make the mean infinite, which
    no table can hold.
    """
    items, units = [], []
    for measure in MEASURES:
        if measure in missing:
            items.append(Item(phase=measure, reason=missing[measure].reason, detail=missing[measure].detail))
            continue
        values = {frame: row[measure] for frame, row in per_frame.items() if measure in row}
        units += [_unit(measure, frame, value) for frame, value in values.items()]
        item = _item(measure, list(values.values()), identical_left_out)
        said = [item.detail, sampled if measure == "lpips" else "", sized]
        items.append(item if item.reason else replace(item, detail="; ".join(filter(None, said))))
    return Scored(items, units)


def _unit(measure: str, frame: int, value: float) -> Unit:
    if math.isinf(value):
        return Unit(f"{measure}_f{frame}", "frame", frame=frame, phase=measure, reason=Reason.UNDEFINED, detail="identical frames")
    return Unit(f"{measure}_f{frame}", "frame", value, value, frame, phase=measure)


def _item(measure: str, values: list[float], identical_left_out: bool) -> Item:
    finite = [value for value in values if not math.isinf(value)]
    left_out = len(values) - len(finite)
    if not finite:
        return Item(phase=measure, reason=Reason.UNDEFINED, detail="every frame is identical to its counterpart: PSNR is infinite")
    if left_out and not identical_left_out:
        return Item(phase=measure, reason=Reason.UNDEFINED, detail=f"{left_out} identical frames: the official mean is infinite")
    mean = float(np.mean(finite))
    return Item(mean, mean, measure, detail=f"{left_out} identical frames left out" if left_out else "", n_units=len(finite))
