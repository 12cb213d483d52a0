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

from lookback.benchmarks.memobench.metrics.shared import BOTH, memobench_metric, variant_of
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Array, Variant, require_equal_size, require_images, require_variant
from lookback.measures.frames import PHASES, ground_truth_index, ground_truth_pairs
from lookback.measures.images import MARGIN, ComparisonPool, PairQueue, mean_inside, peak_value, psnr_from_mse
from lookback.media import shrink
from lookback.scoring import Item, Paired, PixelScoring, Scored, ScoringClip, Unit, mean_item

NEEDS = ("video", "ground_truth")
CEILING_DB = 99.0  # PSNR of identical frames
IDENTICAL_MSE = 1e-10  # on the 0..255 scale
OFFICIAL_MAX_SIDE = 640
MARGINS: dict[Variant, int] = {"paper": MARGIN, "official": 0}  # border pixels that the mean of the SSIM map leaves out
BACKBONES: dict[Variant, str] = {"paper": "vgg", "official": "alex"}  # the network behind LPIPS

Measure = Callable[[Array, Array], dict[str, float]]
FrameIndices = NDArray[np.int64]
MatchedFrames = dict[str, tuple[FrameIndices, FrameIndices]]  # phase ("" is the whole clip) -> generated frames, their true frames

_POOL = ComparisonPool()


# -- two frames -----------------------------------------------------------------------------------------------------------------
def to_generated_size(generated: Array, truth: Array, *, variant: Variant = "paper") -> tuple[Array, Array]:
    """Both frames at one size: the truth is resized (area) to the generated frame. Official first limits that to 640 px a side."""
    require_variant(variant, BOTH)
    if variant == "official":
        generated = _limit_side(generated, OFFICIAL_MAX_SIDE)
    height, width = generated.shape[:2]
    if truth.shape[:2] != (height, width):
        truth = cv2.resize(truth, (width, height), interpolation=cv2.INTER_AREA)
    return generated, truth


def _limit_side(frame: Array, side: int) -> Array:
    height, width = frame.shape[:2]
    if max(height, width) <= side:
        return frame
    scale = side / max(height, width)
    return cv2.resize(frame, (round(width * scale), round(height * scale)), interpolation=cv2.INTER_AREA)


def frame_psnr(a: Array, b: Array) -> float:
    """10 log10(peak^2 / mse) over pixels and channels of two frames of one size, in dB; 99 for identical frames."""
    peak = peak_value(a)
    if a.dtype == np.uint8:
        squared = cv2.norm(a, b, cv2.NORM_L2SQR)
    else:
        squared = cv2.norm(a.astype(np.float32) - b.astype(np.float32), cv2.NORM_L2SQR)
    mse = squared / a.size
    return CEILING_DB if mse * (255.0 / peak) ** 2 < IDENTICAL_MSE else min(psnr_from_mse(mse, peak), CEILING_DB)


def frame_ssim(a: Array, b: Array, *, variant: Variant = "paper") -> float:
    """SSIM of the luma of two frames of one size: 11x11 Gaussian window, sigma 1.5.

    At the 5 border pixels the window leaves the picture. Paper (Wang et al.) leaves them out of the mean, official reflects them.
    """
    require_variant(variant, BOTH)
    return frame_ssims(a, b)[variant]


def frame_ssims(a: Array, b: Array) -> dict[Variant, float]:
    """The SSIM of two frames in both variants. They take different means of the same map."""
    grey_a, grey_b = (
        cv2.cvtColor(frame if frame.dtype == np.uint8 else frame.astype(np.float32), cv2.COLOR_RGB2GRAY) for frame in (a, b)
    )
    comparison = _POOL.get(grey_a.shape)
    comparison.load(grey_a, grey_b)
    ssim_map = comparison.ssim_map(peak_value(a))
    return {variant: mean_inside(ssim_map, margin) for variant, margin in MARGINS.items()}


def pixel_measures(a: Array, b: Array) -> dict[str, float]:
    """PSNR and each variant's SSIM of one pair of frames."""
    return {"psnr": frame_psnr(a, b)} | {f"ssim {variant}": value for variant, value in frame_ssims(a, b).items()}


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
    if variant == "paper" or len(first) != len(second):
        require_equal_size(first, second, "frames")
    pairs = (to_generated_size(x, y, variant=variant) for x, y in zip(first, second, strict=True))
    return float(np.mean([measure(x, y) for x, y in pairs]))


# -- the three metrics ----------------------------------------------------------------------------------------------------------
@memobench_metric(
    "psnr",
    title="PSNR",
    unit="dB",
    range=(0.0, 99.0),
    needs=NEEDS,
    roles=(),
    equation="10 log10(255^2 / mse), identical frames 99 dB",
    source="MemoBench section 3.4",
    differences={"official": "frames limited to 640 px; phase ends count twice"},
    variants=BOTH,
    pixels=True,
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
    differences={"official": "frames limited to 640 px, borders reflected; phase ends count twice"},
    variants=BOTH,
    pixels=True,
)
def score_ssim(context: ScoringClip) -> PixelScoring:
    """Frame by frame against the ground truth."""
    return (yield from score_fidelity(context, f"ssim {variant_of(context)}", "pixels", pixel_measures))


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
    constants=("lpips_every", "lpips_side"),
    differences={"official": "AlexNet instead of VGG"},
    variants=BOTH,
    pixels=True,
)
def score_lpips(context: ScoringClip) -> PixelScoring:
    """Frame by frame against the ground truth. `lpips_every` and `lpips_side` take fewer and smaller frames; the item says so."""
    perceptual = context.backend("perceptual")
    net = BACKBONES[variant_of(context)]
    every = int(context.constant("lpips_every", 1))
    side = int(context.constant("lpips_side", 0))
    words = [f"every {every}th frame"] * (every > 1) + [f"frames of at most {side} px"] * (side > 0)

    def measure(a: Array, b: Array) -> dict[str, float]:
        first, second = ((shrink(image, side) if side else image)[None] for image in (a, b))
        return {"lpips": float(perceptual.distance(first, second, net)[0])}

    return (yield from score_fidelity(context, "lpips", f"lpips-{net}-{side}", measure, every, "; ".join(words)))


# -- scoring a clip -------------------------------------------------------------------------------------------------------------
class MeasuredPairs:
    """Brings each pair of frames to one size and measures it. The result is {frame: measures}."""

    def __init__(self, variant: Variant, measure: Measure):
        self.variant, self.measure = variant, measure
        self.queue: PairQueue[dict[str, float]] = PairQueue()

    def push(self, index: int, frame: Array, truth: Array | None) -> None:
        assert truth is not None
        self.queue.push(index, self._measured, frame, truth)

    def finish(self) -> dict[int, dict[str, float]]:
        return self.queue.finish()

    def _measured(self, frame: Array, truth: Array) -> dict[str, float]:
        return self.measure(*to_generated_size(frame, truth, variant=self.variant))


def score_fidelity(
    context: ScoringClip, name: str, measure_key: str, measure: Measure, every: int = 1, detail: str = ""
) -> PixelScoring:
    """Units per frame, items for V, D, R and the whole clip. Metrics with the same `measure_key` share one computation.

    Without a phase sheet only the whole clip is scored, and the items of the phases carry the reason.
    """
    variant = variant_of(context)
    matched, no_phases = _matched_frames(context, variant)
    sampled = _thinned(matched, every)
    own = _own_pairs(sampled)
    sizes = {phase: "" if phase == "" and _one_size(context) else variant for phase in sampled}
    answers = yield [
        Paired(
            f"{measure_key}-{sizes[phase]}-{phase}-{every}",
            lambda: MeasuredPairs(variant, measure),
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
        items.append(replace(mean_item(rows, detail=detail), phase=phase))
        units += rows
    items += [Item(phase=phase, reason=no_phases.reason, detail=no_phases.detail) for phase in PHASES if no_phases]
    return Scored(items, units)


def _matched_frames(context: ScoringClip, variant: Variant) -> tuple[MatchedFrames, NotScorable | None]:
    """Which true frame each generated frame is compared with; and why there are no phases, where there are none."""
    clip = context.clip
    context.need("ground_truth")
    if clip.gt_frames is None:
        raise NotScorable(Reason.MISSING_INPUT, "the length of the ground truth is unknown")
    count = context.need("n_frames")
    if clip.d_start is not None and clip.r_start is not None:
        try:
            return ground_truth_pairs(clip.d_start, clip.r_start, clip.gt_frames, count, variant=variant), None
        except NotScorable as reason:
            no_phases = reason
    else:
        no_phases = NotScorable(Reason.NO_PHASES, "the phase sheet has no d_start and r_start for this clip")
    return {"": (np.arange(count), ground_truth_index(count, 0, clip.gt_frames - 1))}, no_phases


def _one_size(context: ScoringClip) -> bool:
    """Whether both variants compare the same frames of the whole clip: official shrinks only large ones."""
    width, height = context.clip.width, context.clip.height
    return width is not None and height is not None and max(width, height) <= OFFICIAL_MAX_SIDE


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
    return Unit(unit_id, "frame", measures[name], measures[name], frame, phase=phase)
