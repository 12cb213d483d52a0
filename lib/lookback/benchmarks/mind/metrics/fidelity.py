"""Long context memory (`lcm`) and general scene consistency (`gsc`): mse, psnr, ssim and lpips of pairs of frames.

`lcm` compares the predicted video with the ground truth from mark_time on. `gsc` compares the first half of a video with its
reversed second half: the camera goes out and comes back the same way. All frames are brought to 720x1280 first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.benchmarks.mind.metrics.shared import (
    lcm_length,
    mind_metric,
    predicted_frames,
    preprocess,
    scored_length,
    variant_of,
    video_max_time,
)
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Array, Variant, require_equal_size, require_images, unit_float
from lookback.measures.images import ComparisonPool, PairQueue, map_pairs, psnr_from_mse
from lookback.scoring import Frames, Item, Paired, PixelScoring, Scored, ScoringClip, Unit

MEASURES = ("mse", "psnr", "ssim", "lpips")
Distance = Callable[[Array, Array], float]

_POOL = ComparisonPool()


# -- two frames -----------------------------------------------------------------------------------------------------------------
def frame_measures(a: Array, b: Array, lpips: Distance | None = None) -> dict[str, float]:
    """mse, psnr (peak 1), ssim (RGB, torchmetrics' defaults) and lpips of two frames (H,W,3) in [0,1].

    torchmetrics' default data range is that of the pair: max(max a - min a, max b - min b). It is 0 for constant frames: identical
    ones get an SSIM of 1, different ones have none.
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


def gsc(video: ArrayLike, *, lpips: Distance | None = None, variant: Variant = "corrected") -> dict[str, Any]:
    """The measures of lcm between frame i and frame N-1-i of one video (N,H,W,3), i < N/2."""
    frames = require_images(video, "video")
    length = scored_length(mirror_half(len(frames)), variant=variant)
    if length == 0:
        raise NotScorable(Reason.TOO_SHORT, f"{len(frames)} frames leave none to score ({variant})")
    return measure_pairs(zip(frames[:length], frames[::-1][:length], strict=True), lpips)


def mirror_half(n_frames: int) -> int:
    """The length of each half; a mirror path has an even number of frames."""
    if n_frames == 0 or n_frames % 2:
        raise NotScorable(Reason.INVALID_INPUT, f"a mirror video needs an even number of frames, not {n_frames}")
    return n_frames // 2


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
    constants=("lpips", "lpips_every", "video_max_time"),
    differences={"official": "the loop drops its last batch of 100 frames: 81 frames give no score at all"},
    pixels=True,
)
def score_lcm(context: ScoringClip) -> PixelScoring:
    """The prediction against the ground truth, frame by frame."""
    frames, truth = predicted_frames(context, video_max_time(context))
    length = scored_length(len(frames), variant=variant_of(context))
    if length == 0:
        raise NotScorable(Reason.TOO_SHORT, f"{len(frames)} frames leave none to score ({context.variant})")
    distance, missing = lpips_or_reason(context)
    every = int(context.constant("lpips_every", 1))
    found = yield Paired(f"lcm-{every}", lambda: MeasuredPairs(distance, every), frames, truth)  # both variants share the pairs
    return scored_measures({int(frame): found[int(frame)] for frame in frames[:length]}, missing)


class MeasuredPairs:
    """Brings both frames of a pair to MIND's size and measures them, with LPIPS for every `every`th pair."""

    def __init__(self, distance: Distance | None, every: int):
        self.distance, self.every = distance, every
        self.queue: PairQueue[dict[str, float]] = PairQueue()

    def push(self, index: int, frame: Array, truth: Array | None) -> None:
        assert truth is not None
        self.queue.push(index, self._with_lpips if index % self.every == 0 else _measured, frame, truth)

    def finish(self) -> dict[int, dict[str, float]]:
        return self.queue.finish()

    def _with_lpips(self, frame: Array, truth: Array) -> dict[str, float]:
        return _measured(frame, truth, self.distance)


def _measured(frame: Array, truth: Array, lpips: Distance | None = None) -> dict[str, float]:
    return frame_measures(preprocess(frame), preprocess(truth), lpips)


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
def score_gsc(context: ScoringClip) -> PixelScoring:
    """The way out against the way back, in reversed order."""
    count = context.need("n_frames")
    half = mirror_half(count)
    length = scored_length(min(half, video_max_time(context) or half), variant=variant_of(context))
    if length == 0:
        raise NotScorable(Reason.TOO_SHORT, f"{count} frames leave none to score ({context.variant})")
    distance, missing = lpips_or_reason(context)
    every = int(context.constant("lpips_every", 1))
    images = yield Frames(np.concatenate([np.arange(length), np.arange(count - length, count)]))
    found = {
        index: _measured(images[index], images[count - 1 - index], distance if index % every == 0 else None)
        for index in range(length)
    }
    return scored_measures(found, missing)


def lpips_or_reason(context: ScoringClip) -> tuple[Distance | None, dict[str, NotScorable]]:
    """The distance of AlexNet LPIPS, or None and the reason. The other three measures do not need it."""
    if not context.constant("lpips", 1):
        return None, {"lpips": NotScorable(Reason.NOT_APPLICABLE, "switched off by the constant lpips: 0")}
    try:
        perceptual = context.backend("perceptual")
    except NotScorable as reason:
        return None, {"lpips": reason}
    return lambda a, b: float(perceptual.distance(a[None], b[None], "alex")[0]), {}


def scored_measures(per_frame: dict[int, dict[str, float]], missing: dict[str, NotScorable]) -> Scored:
    """One item per measure and one unit per frame and measure. An infinite PSNR (identical frames) is left out and counted."""
    items, units = [], []
    for measure in MEASURES:
        if measure in missing:
            items.append(Item(phase=measure, reason=missing[measure].reason, detail=missing[measure].detail))
            continue
        values = {frame: row[measure] for frame, row in per_frame.items() if measure in row}
        units += [_unit(measure, frame, value) for frame, value in values.items()]
        items.append(_item(measure, list(values.values())))
    return Scored(items, units)


def _unit(measure: str, frame: int, value: float) -> Unit:
    if math.isinf(value):
        return Unit(f"{measure}_f{frame}", "frame", frame=frame, phase=measure, reason=Reason.UNDEFINED, detail="identical frames")
    return Unit(f"{measure}_f{frame}", "frame", value, value, frame, phase=measure)


def _item(measure: str, values: list[float]) -> Item:
    finite = [value for value in values if not math.isinf(value)]
    if not finite:
        return Item(phase=measure, reason=Reason.UNDEFINED, detail="every frame is identical to its counterpart: PSNR is infinite")
    left_out = len(values) - len(finite)
    mean = float(np.mean(finite))
    return Item(mean, mean, measure, detail=f"{left_out} identical frames left out" if left_out else "", n_units=len(finite))
