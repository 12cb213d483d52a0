"""The three measures against the ground truth (PSNR, SSIM, LPIPS) as scores: per frame, per phase and over the whole clip."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from lookback.benchmarks.memobench.metrics.fidelity import OFFICIAL_MAX_SIDE, frame_psnr, frame_ssims, to_generated_size
from lookback.benchmarks.memobench.metrics.inputs import variant_of
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Array, Variant
from lookback.measures.fidelity import PairQueue
from lookback.measures.phases import PHASES, ground_truth_index, ground_truth_pairs
from lookback.scoring import Item, Paired, Scored, ScoringClip, Unit, mean_item

NEEDS = ("video", "ground_truth")
Measure = Callable[[Array, Array], dict[str, float]]


class FramePairs:
    """Brings each pair of frames to one size and measures it; answered with {frame: measures}."""

    def __init__(self, variant: Variant, measure: Measure):
        self.variant, self.measure = variant, measure
        self.queue: PairQueue[dict[str, float]] = PairQueue()

    def push(self, index: int, frame: np.ndarray, truth: np.ndarray | None) -> None:
        assert truth is not None
        self.queue.push(index, self._measured, frame, truth)

    def finish(self) -> dict[int, dict[str, float]]:
        return self.queue.finish()

    def _measured(self, frame: np.ndarray, truth: np.ndarray) -> dict[str, float]:
        return self.measure(*to_generated_size(frame, truth, variant=self.variant))


def score_fidelity(context: ScoringClip, name: str, measure_key: str, measure: Measure, every: int = 1, detail: str = ""):
    """Units per frame, items for V, D, R and the whole clip; metrics with the same `measure_key` share one computation.

    Without a phase sheet only the whole clip is scored, and the phases say why they are missing.
    """
    variant = variant_of(context)
    matched, without_phases = _frame_pairs(context, variant)
    sampled = _thinned(matched, every)
    own = _own_pairs(sampled)
    sizes = {phase: "" if phase == "" and _one_size(context) else variant for phase in sampled}
    answers = yield [
        Paired(
            f"{measure_key}-{sizes[phase]}-{phase}-{every}",
            lambda: FramePairs(variant, measure),
            frames[own[phase]],
            truth[own[phase]],
        )
        for phase, (frames, truth) in sampled.items()
    ]
    found = dict(zip(sampled, answers, strict=True))
    units, items = [], []
    for phase, (frames, _) in sampled.items():
        failure = next((answer for answer in (found[phase], found[""]) if isinstance(answer, NotScorable)), None)
        if failure is not None:
            items.append(Item(phase=phase, reason=failure.reason, detail=failure.detail))
            continue
        values = found[""] | found[phase]
        rows = [_unit(phase, int(frame), values.get(int(frame)), name) for frame in frames]
        items.append(replace(mean_item(rows, detail=detail), phase=phase))
        units += rows
    items += [Item(phase=phase, reason=without_phases.reason, detail=without_phases.detail) for phase in PHASES if without_phases]
    return Scored(items, units)


def _one_size(context: ScoringClip) -> bool:
    """Whether the variants see the same frames of the whole clip: both pair it alike, and official shrinks only large frames."""
    width, height = context.clip.width, context.clip.height
    return width is not None and height is not None and max(width, height) <= OFFICIAL_MAX_SIDE


def _thinned(matched: dict[str, Any], every: int) -> dict[str, Any]:
    """Every `every`th frame of each phase, from half a step in (frame 0 is the picture the model was given), never none.

    The whole clip is seen at the frames of its phases, so that they share their pairs.
    """
    if every == 1:
        return matched
    kept = {}
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


def _own_pairs(sampled: dict[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
    """Which pairs a phase must ask for itself: those the whole clip does not compare anyway (none for equally long videos)."""
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


def _frame_pairs(context: ScoringClip, variant: Variant) -> tuple[dict[str, Any], NotScorable | None]:
    clip = context.clip
    context.need("ground_truth")
    if clip.gt_frames is None:
        raise NotScorable(Reason.MISSING_INPUT, "the length of the ground truth is unknown")
    count = context.need("n_frames")
    if clip.d_start is not None and clip.r_start is not None:
        try:
            return ground_truth_pairs(clip.d_start, clip.r_start, clip.gt_frames, count, variant=variant), None
        except NotScorable as reason:
            without = reason
    else:
        without = NotScorable(Reason.NO_PHASES, "the phase sheet has no d_start and r_start for this clip")
    return {"": (np.arange(count), ground_truth_index(count, 0, clip.gt_frames - 1))}, without


def pixel_measures(a: Array, b: Array) -> dict[str, float]:
    """PSNR and each variant's SSIM of one pair of frames."""
    return {"psnr": frame_psnr(a, b)} | {f"ssim {variant}": value for variant, value in frame_ssims(a, b).items()}
