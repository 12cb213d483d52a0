"""The three measures against the ground truth (PSNR, SSIM, LPIPS) as scores: per frame, per phase and over the whole clip."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lookback.errors import NotScorable, Reason
from lookback.metrics.memobench.fidelity import frame_psnr, frame_ssim, to_generated_size
from lookback.metrics.memobench.inputs import variant_of
from lookback.metrics.memobench.phases import PHASES, ground_truth_index, ground_truth_pairs
from lookback.metrics.shared.checks import Variant
from lookback.scoring import Item, Paired, Scored, ScoringClip, Unit, mean_item

NEEDS = ("video", "ground_truth")
Measure = Callable[[np.ndarray, np.ndarray], dict[str, float]]


class FramePairs:
    """Brings each pair of frames to one size and measures it; answered with {frame: measures}."""

    def __init__(self, variant: Variant, measure: Measure):
        self.variant, self.measure = variant, measure
        self.found: dict[int, dict[str, float]] = {}

    def push(self, index: int, frame: np.ndarray, truth: np.ndarray | None) -> None:
        assert truth is not None
        self.found[index] = self.measure(*to_generated_size(frame, truth, variant=self.variant))

    def finish(self) -> dict[int, dict[str, float]]:
        return self.found


def score_fidelity(context: ScoringClip, name: str, measure_key: str, measure: Measure, every: int = 1):
    """Units per frame, items for V, D, R and the whole clip; metrics with the same `measure_key` share one computation.

    Without a phase sheet only the whole clip is scored, and the phases say why they are missing.
    """
    variant = variant_of(context)
    matched, without_phases = _frame_pairs(context, variant)
    units, items = [], []
    answers = yield [
        Paired(f"{measure_key}-{variant}-{phase}-{every}", lambda: FramePairs(variant, measure), frames[::every], truth[::every])
        for phase, (frames, truth) in matched.items()
    ]
    for phase, values in zip(matched, answers, strict=True):
        if isinstance(values, NotScorable):
            items.append(Item(phase=phase, reason=values.reason, detail=values.detail))
            continue
        rows = [
            Unit(f"{phase or 'all'}_f{frame}", "frame", value[name], value[name], frame, phase=phase)
            for frame, value in values.items()
        ]
        items.append(mean_item(rows, detail=f"every {every}th frame" if every > 1 else ""))
        items[-1] = Item(**{**items[-1].__dict__, "phase": phase})
        units += rows
    items += [Item(phase=phase, reason=without_phases.reason, detail=without_phases.detail) for phase in PHASES if without_phases]
    return Scored(items, units)


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


def pixel_measures(variant: Variant) -> Measure:
    """PSNR and SSIM of one pair of frames."""
    return lambda a, b: {"psnr": frame_psnr(a, b), "ssim": frame_ssim(a, b, variant=variant)}
