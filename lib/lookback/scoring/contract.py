"""What a metric gets, what it may ask for, and what it returns.

A metric gets a `ScoringClip`. A metric that needs frames is a generator: it yields a request (`Frames`, `Stream`, `Paired`) and
receives the answer. A list of requests is answered with a list; an entry that could not be served is a NotScorable. All metrics of
a clip are advanced to their first request, and one decode serves them all. Requests with the same `key` share one computation, so
PSNR and SSIM share their resized frames. A metric returns `Scored`: items, and the units (frame, pair, track, segment) behind them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import pandas as pd

from lookback.artifacts import Artifact
from lookback.artifacts.poses import MAPPED
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.paths import resolve
from lookback.presets import Setting, is_number
from lookback.store import Entry


@dataclass(frozen=True)
class Unit:
    """One evaluation unit: a value or a reason, and its frames."""

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

    def checked(self) -> Scored:
        """The same in plain numbers. Instead of a value that is not finite, the reason `undefined` stands there."""
        return Scored([_checked(item) for item in self.items], [_checked(unit) for unit in self.units])


def noted(item: Item, note: str) -> Item:
    """The item with a note before its detail, where there is a value to mislead."""
    return replace(item, detail="; ".join(filter(None, [note, item.detail]))) if item.value is not None else item


Row = TypeVar("Row", Unit, Item)


def _checked(row: Row) -> Row:
    plain = {name: value.item() for name, value in vars(row).items() if isinstance(value, np.generic)}
    numbers = {name: float(given) for name in ("value", "raw") if (given := getattr(row, name)) is not None}
    finite = {name: number if isfinite(number) else None for name, number in numbers.items()}
    changed: dict[str, Any] = plain | finite
    if row.value is not None and finite["value"] is None:
        changed |= {"reason": row.reason or str(Reason.UNDEFINED), "detail": row.detail or f"the metric gave {numbers['value']}"}
    return replace(row, **changed)


def mean_item(units: Sequence[Unit], phase: str = "", detail: str = "") -> Item:
    """The mean over the units that have a value. If none has, the most frequent reason."""
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


class Consumer(Protocol):
    """Receives frames in order as they are decoded, and returns a result at the end.

    Frames of different clips come from different threads. Only one of them is pushed at a time, unless the class says
    `any_thread = True`.
    """

    def push(self, index: int, frame: np.ndarray, truth: np.ndarray | None) -> None: ...

    def finish(self) -> Any: ...


@dataclass(frozen=True)
class Frames:
    """A request for a few frames by index. The answer is {index: frame}, uint8 RGB."""

    indices: np.ndarray


@dataclass(frozen=True)
class Stream:
    """A request to pass every frame (or those in `indices`) in order to a consumer. The answer is the consumer's result."""

    key: str
    make: Callable[[], Consumer]
    indices: np.ndarray | None = None


@dataclass(frozen=True)
class Paired:
    """The same with ground truth: frame `indices[k]` is passed together with truth frame `truth[k]` (both ascending)."""

    key: str
    make: Callable[[], Consumer]
    indices: np.ndarray
    truth: np.ndarray


Request = Frames | Stream | Paired
PixelScoring = Generator[Request | list[Request], Any, Scored]  # what a metric that asks for pixels returns


A = TypeVar("A", bound=Artifact)


@dataclass
class ScoringClip:
    """One clip, as one metric sees it. It records which artifacts were used, for the provenance columns."""

    clip: Clip
    variant: str
    constants: Mapping[str, float]
    segments: pd.DataFrame  # this clip's rows of the segments table
    load_artifact: Callable[[str], Entry]
    tool: Callable[[str], Any]  # a role's backend as a function library (LPIPS distance, optical flow)
    shared: dict[Any, Any] = field(default_factory=dict)  # results that several metrics of one clip share
    used: set[str] = field(default_factory=set)
    settings: Mapping[str, Setting] = field(default_factory=dict)  # the preset of the variant, with what the run overrides

    def artifact(self, kind: type[A]) -> A:
        """The artifact of this kind, or NotScorable with the reason it is missing."""
        self.used.add(kind.role)
        found = kind.unpack(self.load_artifact(kind.role))
        self.shared["notes", kind.role] = "; ".join(note for note in getattr(found, "notes", ()) if MAPPED in note)
        return found

    def backend(self, role: str) -> Any:
        """The role's backend itself, or NotScorable(backend_unavailable)."""
        self.used.add(role)
        return self.tool(role)

    def setting(self, name: str) -> Setting:
        """A setting of the metric's preset (presets.yaml)."""
        return self.settings[name]

    def number(self, name: str) -> float:
        """A setting that is a number."""
        value = self.settings[name]
        if not is_number(value):
            raise TypeError(f"the setting '{name}' of this preset is {value!r}, not a number")
        return float(cast(float, value))

    def need(self, name: str) -> Any:
        """A field of the clip that the metric needs, or NotScorable when it is empty."""
        value = getattr(self.clip, name)
        if value is None or value == "" or value == []:
            raise NotScorable(Reason.MISSING_INPUT, f"the clip has no {name}")
        return value

    @property
    def video(self) -> Path:
        return resolve(self.clip.video)
