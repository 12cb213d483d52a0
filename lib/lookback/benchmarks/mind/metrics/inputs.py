"""What the MIND metrics read of a clip: which frames meet, and the actions."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from lookback.benchmarks.mind.actions import action_name, detect_convention
from lookback.benchmarks.mind.metrics.frame_measures import Distance, lcm_length
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant
from lookback.paths import resolve
from lookback.scoring import Item, Scored, ScoringClip, Unit

MEASURES = ("mse", "psnr", "ssim", "lpips")


def variant_of(context: ScoringClip) -> Variant:
    return "official" if context.variant == "official" else "corrected"


def video_max_time(context: ScoringClip) -> int | None:
    """The most frames of a video to look at, where the run says; action accuracy looks at all."""
    return int(context.constant("video_max_time", 0)) or None


def predicted_frames(context: ScoringClip, limit: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(generated frames, ground-truth frames): the prediction starts where the memory context ends (mark_time)."""
    mark, total = context.need("mark_time"), context.need("gt_frames")
    count = lcm_length(total, mark, context.need("n_frames"), limit)
    if count == 0:
        raise NotScorable(Reason.TOO_SHORT, f"no frame follows mark_time {mark} of {total}")
    return np.arange(count), mark + np.arange(count)


def actions(context: ScoringClip) -> list[str]:
    """The action at each ground-truth frame, under either convention of action.json (detected unless the run says)."""
    path = resolve(context.need("actions"))
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["data"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotScorable(Reason.INVALID_INPUT, f"{path.name} does not load: {error}") from None
    convention = context.clip.extras.get("action_convention") or detect_convention(rows)
    return [action_name(row, convention) for row in rows]


def lpips_distance(context: ScoringClip) -> Distance:
    """AlexNet LPIPS of two frames, from the run's perceptual backend."""
    perceptual = context.backend("perceptual")
    return lambda a, b: float(perceptual.distance(a[None], b[None], "alex")[0])


def scored_measures(per_frame: dict[int, dict[str, float]], missing: dict[str, NotScorable], note: str = "") -> Scored:
    """One item per measure and one unit per frame and measure; an infinite PSNR (identical frames) is left out and counted."""
    items, units = [], []
    for measure in MEASURES:
        if measure in missing:
            items.append(Item(phase=measure, reason=missing[measure].reason, detail=missing[measure].detail))
            continue
        values = {frame: row[measure] for frame, row in per_frame.items() if measure in row}
        units += [_unit(measure, frame, value) for frame, value in values.items()]
        items.append(_item(measure, values, note))
    return Scored(items, units)


def _unit(measure: str, frame: int, value: float) -> Unit:
    if math.isinf(value):
        return Unit(f"{measure}_f{frame}", "frame", frame=frame, phase=measure, reason=Reason.UNDEFINED, detail="identical frames")
    return Unit(f"{measure}_f{frame}", "frame", value, value, frame, phase=measure)


def _item(measure: str, values: dict[int, float], note: str) -> Item:
    finite: list[Any] = [value for value in values.values() if not math.isinf(value)]
    if not finite:
        return Item(phase=measure, reason=Reason.UNDEFINED, detail="every frame is identical to its counterpart: PSNR is infinite")
    left_out = len(values) - len(finite)
    detail = "; ".join(filter(None, [note, f"{left_out} identical frames left out" if left_out else ""]))
    mean = float(np.mean(finite))
    return Item(mean, mean, measure, detail=detail, n_units=len(finite))
