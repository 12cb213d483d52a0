"""What a metric gives back: units (frame, pair, track, segment) and the item made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from lookback.errors import Reason


@dataclass(frozen=True)
class Unit:
    """One evaluation unit: a value or a reason, and the frames it speaks of."""

    unit_id: str
    kind: str  # frame, pair, track, segment, phase, probe
    value: float | None = None
    raw: float | None = None
    frame: int | None = None
    frame_other: int | None = None
    phase: str = ""
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Item:
    """A clip's score in one metric (and phase): a value or a reason."""

    value: float | None = None
    raw: float | None = None
    phase: str = ""
    reason: str = ""
    detail: str = ""
    n_units: int = 0


@dataclass(frozen=True)
class Scored:
    """A metric's result for one clip."""

    items: list[Item]
    units: list[Unit] = field(default_factory=list)


def mean_item(units: Sequence[Unit], phase: str = "", detail: str = "") -> Item:
    """The mean over the units that have a value; without one, the reason most of them give."""
    chosen = [unit for unit in units if not phase or unit.phase == phase]
    values = [unit.value for unit in chosen if unit.value is not None]
    if not values:
        reasons = Counter(unit.reason for unit in chosen)
        reason = reasons.most_common(1)[0][0] if reasons else Reason.TOO_FEW_VALUES
        return Item(phase=phase, reason=str(reason), detail=detail or f"none of {len(chosen)} units has a value")
    raws = [unit.raw for unit in chosen if unit.raw is not None]
    missing = len(chosen) - len(values)
    note = f"{missing} of {len(chosen)} units missing" if missing else ""
    return Item(
        fmean(values), fmean(raws) if raws else None, phase, detail="; ".join(filter(None, [detail, note])), n_units=len(values)
    )
