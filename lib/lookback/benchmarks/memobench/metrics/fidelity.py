"""PSNR, SSIM and LPIPS against the ground truth (MemoBench section 3.4, "Pixel-Level Fidelity").

From top to bottom: how two frames are compared, the functional twins, the three declared metrics, and how a clip is scored.

Each generated frame is compared with one ground-truth frame (`lookback.measures.frames.ground_truth_pairs`), at the size of the
generated frame. A clip gets one value for each phase V, D and R and one for the whole clip. PSNR and SSIM of both variants are
measured together on the same resized pair; the phases reuse the pairs of the whole clip where they are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.benchmarks.memobench.metrics.shared import BOTH, memobench_metric, phase_rule, raw_rounded, setting_of
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Array, Variant, require_equal_size, require_images, require_variant
from lookback.measures.frames import PHASES, ground_truth_index, ground_truth_pairs
from lookback.measures.images import (
    IDENTICAL_DB,
    IDENTICAL_MSE,
    MARGIN,
    WINDOW,
    ComparisonPool,
    PairQueue,
    mean_inside,
    peak_value,
    psnr_from_mse,
)
from lookback.measures.shrinking import kernels, resize_area, shared_area
from lookback.media import shrink
from lookback.presets import Setting
from lookback.scoring import Item, Paired, PixelScoring, Scored, ScoringClip, Unit, mean_item
from lookback.scoring.sampling import lpips_step, sampled_words

NEEDS = ("video", "ground_truth")
MARGINS: dict[Setting, int] = {"left_out": MARGIN, "reflected": 0}  # border pixels that the mean of the SSIM map leaves out

Measure = Callable[[Array, Array], dict[str, float]]
FrameIndices = NDArray[np.int64]
MatchedFrames = dict[str, tuple[FrameIndices, FrameIndices]]  # phase ("" is the whole clip) -> generated frames, their true frames

_POOL = ComparisonPool()


# -- two frames -----------------------------------------------------------------------------------------------------------------
def to_generated_size(generated: Array, truth: Array, max_side: int = 0) -> tuple[Array, Array]:
    """Both frames at one size: the truth is resized (area) to the generated frame, which `max_side` limits first (0: not)."""
    height, width = generated.shape[:2]
    scale = max_side / max(height, width) if max_side else 1.0
    if scale < 1:
        height, width = max(1, round(height * scale)), max(1, round(width * scale))
        generated = resize_area(generated, width, height)
    if truth.shape[:2] != (height, width):
        truth = shared_area(truth, width, height)
    return generated, truth


def frame_psnr(a: Array, b: Array) -> float:
    """10 log10(peak^2 / mse) over pixels and channels of two frames of one size, in dB; 99 for identical frames."""
    peak = peak_value(a)
    if a.dtype == np.uint8:
        squared = cv2.norm(a, b, cv2.NORM_L2SQR)
    else:
        squared = cv2.norm(a.astype(np.float32) - b.astype(np.float32), cv2.NORM_L2SQR)
    mse = squared / a.size
    return IDENTICAL_DB if mse / peak**2 < IDENTICAL_MSE else psnr_from_mse(mse, peak)


def frame_ssim(a: Array, b: Array, *, variant: Variant = "paper") -> float:
    """SSIM of the luma of two frames of one size: 11x11 Gaussian window, sigma 1.5.

    At the 5 border pixels the window leaves the picture. Paper (Wang et al.) leaves them out of the mean, official reflects them.
    """
    require_variant(variant, BOTH)
    return frame_ssims(a, b)[setting_of("ssim", variant, "border")]


def frame_ssims(a: Array, b: Array) -> dict[str, float]:
    """The SSIM of two frames by the treatment of the border: different means of the same map."""
    kind = np.uint8 if a.dtype == b.dtype == np.uint8 else np.float32
    grey_a, grey_b = (_luma(frame.astype(kind, copy=False)) for frame in (a, b))
    if kind == np.uint8 and min(a.shape[:2]) >= WINDOW and (compiled := kernels()):
        whole, inside = compiled.grey_ssim(grey_a, grey_b)
        return {str(border): inside if margin else whole for border, margin in MARGINS.items()}
    comparison = _POOL.get(grey_a.shape)
    comparison.load(grey_a, grey_b)
    ssim_map = comparison.ssim_map(peak_value(a))
    return {str(border): mean_inside(ssim_map, margin) for border, margin in MARGINS.items()}


def _luma(frame: Array) -> Array:
    return np.asarray(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY))


def pixel_measures(a: Array, b: Array) -> dict[str, float]:
    """PSNR of one pair of frames, and its SSIM with either border, where the frames are as large as the window of SSIM."""
    ssims = frame_ssims(a, b) if min(a.shape[:2]) >= WINDOW else {}
    return {"psnr": frame_psnr(a, b)} | {f"ssim {border}": value for border, value in ssims.items()}


# -- functional twins -----------------------------------------------------------------------------------------------------------
def psnr(a: ArrayLike, b: ArrayLike, *, variant: Variant = "paper") -> float:
    """Peak signal-to-noise ratio in dB of RGB frames (H,W,3), or its mean over the frames of two videos (N,H,W,3).

    10 log10(peak^2 / mse). Identical frames give 99 dB, as in the released code, so that a mean stays finite. `official` resizes
    `b` to the size of `a`, at most 640 px a side; otherwise the sizes must be equal.
    """
    return mean_over_frames(frame_psnr, a, b, variant)


def ssim(a: ArrayLike, b: ArrayLike, *, variant: Variant = "paper") -> float:
    """Structural similarity of the luma of RGB frames (H,W,3), or its mean over the frames of two videos (N,H,W,3).

    Wang et al. 2004: Gaussian window 11x11, sigma 1.5. `official` resizes `b` to the size of `a`, at most 640 px a side, and
    reflects the border; otherwise the sizes must be equal and border pixels stay out of the mean.
    """
    return mean_over_frames(partial(frame_ssim, variant=variant), a, b, variant)


def mean_over_frames(measure: Callable[[Array, Array], float], a: ArrayLike, b: ArrayLike, variant: Variant) -> float:
    """The measure of two frames (H,W,3), or its mean over two videos (N,H,W,3) of one length.

    The sizes must be equal, except that official brings the second to the size of the first.
    """
    require_variant(variant, BOTH)
    ndim = max(np.ndim(a), 3)
    first, second = require_images(a, "a", ndim=min(ndim, 4)), require_images(b, "b", ndim=min(ndim, 4))
    if first.dtype != second.dtype:
        first, second = (frames / np.float32(255.0) if frames.dtype == np.uint8 else frames for frames in (first, second))
    if first.ndim == 3:
        first, second = first[None], second[None]
    side = setting_of("psnr", variant, "max_side")
    if not side or len(first) != len(second):
        require_equal_size(first, second, "frames")
    pairs = (to_generated_size(x, y, side) for x, y in zip(first, second, strict=True))
    return float(np.mean([measure(x, y) for x, y in pairs]))


# -- the three metrics ----------------------------------------------------------------------------------------------------------
@memobench_metric(
    "psnr",
    title="PSNR",
    unit="dB",
    range=(0.0, None),
    needs=NEEDS,
    roles=(),
    equation="10 log10(255^2 / mse), identical frames 99 dB",
    source="MemoBench section 3.4",
    pixels=True,
    phases=("", *PHASES),
)
def score_psnr(context: ScoringClip) -> PixelScoring:
    """Frame by frame against the ground truth."""
    return (yield from score_fidelity(context, "psnr", "pixels", pixel_measures))


@memobench_metric(
    "ssim",
    title="SSIM",
    range=(-1.0, 1.0),
    needs=NEEDS,
    roles=(),
    equation="mean SSIM of the luma, Gaussian 11x11, sigma 1.5",
    source="MemoBench section 3.4",
    pixels=True,
    phases=("", *PHASES),
)
def score_ssim(context: ScoringClip) -> PixelScoring:
    """Frame by frame against the ground truth."""
    border = context.setting("border")
    return (yield from score_fidelity(context, f"ssim {border}", "pixels", pixel_measures))


@memobench_metric(
    "lpips",
    title="LPIPS",
    unit="distance",
    range=(0.0, None),
    higher_is_better=False,
    needs=NEEDS,
    roles=(),
    tools=("perceptual",),
    equation="LPIPS(generated, ground truth); VGG (paper), AlexNet (official)",
    source="MemoBench section 3.4",
    pixels=True,
    phases=("", *PHASES),
)
def score_lpips(context: ScoringClip) -> PixelScoring:
    """Frame by frame against the ground truth. `lpips_frames` or `lpips_every` take fewer frames, `lpips_side` smaller ones."""
    perceptual = context.backend("perceptual")
    net = str(context.setting("network"))
    every, side = lpips_step(context), int(context.number("lpips_side"))
    words = [sampled_words(every), f"frames of at most {side} px" if side else ""]

    def measure(a: Array, b: Array) -> dict[str, float]:
        first, second = ((shrink(image, side) if side else image)[None] for image in (a, b))
        return {"lpips": float(perceptual.distance(first, second, net)[0])}

    return (yield from score_fidelity(context, "lpips", f"lpips-{net}-{side}", measure, every, "; ".join(filter(None, words))))


# -- scoring a clip -------------------------------------------------------------------------------------------------------------
class MeasuredPairs:
    """Brings each pair of frames to one size and measures it. The result is {frame: measures}."""

    any_thread = True

    def __init__(self, max_side: int, measure: Measure):
        self.max_side, self.measure = max_side, measure
        self.queue: PairQueue[dict[str, float]] = PairQueue()

    def push(self, index: int, frame: Array, truth: Array | None) -> None:
        assert truth is not None
        self.queue.push(index, self._measured, frame, truth)

    def finish(self) -> dict[int, dict[str, float]]:
        return self.queue.finish()

    def _measured(self, frame: Array, truth: Array) -> dict[str, float]:
        return self.measure(*to_generated_size(frame, truth, self.max_side))


def score_fidelity(
    context: ScoringClip, name: str, measure_key: str, measure: Measure, every: int = 1, detail: str = ""
) -> PixelScoring:
    """Units per frame, items for V, D, R and the whole clip. Metrics with the same `measure_key` share one computation.

    Without a phase sheet only the whole clip is scored, and the items of the phases carry the reason.
    """
    matched, no_phases = _matched_frames(context)
    sampled = _thinned(matched, every)
    own = _own_pairs(sampled)
    side, rule = _side(context), phase_rule(context)
    rules = {phase: "" if phase == "" else rule for phase in sampled}  # the whole clip is the same under every rule
    answers = yield [
        Paired(
            f"{measure_key}-{side}-{rules[phase]}-{phase}-{every}",
            lambda: MeasuredPairs(side, measure),
            frames[own[phase]],
            truth[own[phase]],
        )
        for phase, (frames, truth) in sampled.items()
    ]
    found = dict(zip(sampled, answers, strict=True))
    units: list[Unit] = []
    items: list[Item] = []
    for phase, (frames, _) in sampled.items():
        failure = next((answer for answer in (found[phase], found[""]) if isinstance(answer, NotScorable)), None)
        if failure is not None:
            items.append(Item(phase=phase, reason=failure.reason, detail=failure.detail))
            continue
        values = found[""] | found[phase]
        rows = [_unit(phase, int(frame), values.get(int(frame)), name) for frame in frames]
        items.append(_item(context, rows, phase, detail))
        units += rows
    items += [Item(phase=phase, reason=no_phases.reason, detail=no_phases.detail) for phase in PHASES if no_phases]
    return Scored(items, units)


def _item(context: ScoringClip, rows: list[Unit], phase: str, detail: str) -> Item:
    """The mean over the frames. Where a preset refuses them, a frame that cannot be compared costs the whole score."""
    broken = [row for row in rows if row.reason]
    if broken and (context.setting("missing_frames") == "refuse" or len(broken) == len(rows)):
        return Item(phase=phase, reason=broken[0].reason, detail=f"frame {broken[0].frame}: {broken[0].detail}")
    item = mean_item(rows, detail=detail)
    return replace(item, phase=phase, value=None if item.value is None else raw_rounded(context, item.value))


def _matched_frames(context: ScoringClip) -> tuple[MatchedFrames, NotScorable | None]:
    """Which true frame each generated frame is compared with; and why there are no phases, where there are none."""
    clip = context.clip
    context.need("ground_truth")
    if clip.gt_frames is None:
        raise NotScorable(Reason.MISSING_INPUT, "the length of the ground truth is unknown")
    count = context.need("n_frames")
    if clip.d_start is not None and clip.r_start is not None:
        try:
            return ground_truth_pairs(clip.d_start, clip.r_start, clip.gt_frames, count, variant=phase_rule(context)), None
        except NotScorable as reason:
            no_phases = reason
    else:
        no_phases = NotScorable(Reason.NO_PHASES, "the phase sheet has no d_start and r_start for this clip")
    if context.setting("without_phases") == "refuse":
        raise no_phases
    return {"": (np.arange(count), ground_truth_index(count, 0, clip.gt_frames - 1))}, no_phases


def _side(context: ScoringClip) -> int:
    """The preset's `max_side`; 0 for a clip that is no larger, so that presets with different limits share its pairs."""
    side, width, height = int(context.number("max_side")), context.clip.width, context.clip.height
    return 0 if width is not None and height is not None and max(width, height) <= side else side


def _thinned(matched: MatchedFrames, every: int) -> MatchedFrames:
    """Every `every`th frame of each phase, at least one, starting half a step in: frame 0 is the picture the model was given.

    Of the whole clip it keeps the frames that the phases keep, so that they share their pairs.
    """
    if every == 1:
        return matched
    kept: MatchedFrames = {}
    for phase, (frames, truth) in matched.items():
        if phase or len(matched) == 1:
            chosen = frames % every == every // 2
            if len(frames) and not chosen.any():
                chosen[len(frames) // 2] = True
            kept[phase] = frames[chosen], truth[chosen]
    if len(matched) > 1:
        frames, truth = matched[""]
        chosen = np.isin(frames, np.concatenate([frames for frames, _ in kept.values()]))
        kept[""] = frames[chosen], truth[chosen]
    return {phase: kept[phase] for phase in matched}


def _own_pairs(sampled: MatchedFrames) -> dict[str, NDArray[np.bool_]]:
    """Which pairs a phase must ask for itself: those that the whole clip does not compare. Videos of equal length have none."""
    whole = dict(zip(*sampled[""], strict=True))
    return {
        phase: np.array([phase == "" or whole.get(frame) != match for frame, match in zip(frames, truth, strict=True)], dtype=bool)
        for phase, (frames, truth) in sampled.items()
    }


def _unit(phase: str, frame: int, measures: dict[str, float] | None, name: str) -> Unit:
    unit_id = f"{phase or 'all'}_f{frame}"
    if measures is None:
        return Unit(unit_id, "frame", frame=frame, phase=phase, reason=Reason.DECODE_FAILED, detail="the frame was not decoded")
    if name not in measures:
        small = f"the frame is smaller than the {WINDOW}x{WINDOW} window of SSIM"
        return Unit(unit_id, "frame", frame=frame, phase=phase, reason=Reason.INVALID_INPUT, detail=small)
    return Unit(unit_id, "frame", measures[name], measures[name], frame, phase=phase)
