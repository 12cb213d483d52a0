"""What a reader gives back: clips, and one violation for everything that broke the layout's contract.

Strict validation prints the violations; lenient loading makes rows of `rejected` of them and runs the rest. Both see the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lookback.clips import Clip
from lookback.errors import Reason
from lookback.names import one_line
from lookback.paths import portable


@dataclass(frozen=True)
class Item:
    """The generated video a violation is about, as far as it is known; what filters select by."""

    model_id: str = ""
    subset: str = ""
    condition_id: str = ""
    sample_id: str = ""

    @classmethod
    def of(cls, clip: Clip) -> Item:
        return cls(clip.model_id, clip.subset, clip.condition_id, clip.sample_id)


@dataclass(frozen=True)
class Violation:
    """One broken rule: where, which field, what is wrong, what to do, and the typed reason for the tables."""

    path: str
    field: str
    problem: str
    remedy: str
    reason: Reason
    concerns: str = ""  # the Clip field that cannot be used; empty: the whole item cannot
    kept: bool = False  # the field stays in the clip: the metric that reads it gives the same reason
    item: Item = Item()

    @property
    def line(self) -> str:
        """The violation as the one line a person reads."""
        return one_line(f"{self.path}: {self.field}: {self.problem}; {self.remedy}")

    def row(self, layout: str) -> dict[str, Any]:
        """The violation as a row of the `rejected` table."""
        return {
            "layout": layout,
            "path": self.path,
            "field": self.field,
            "reason": str(self.reason),
            "problem": self.problem,
            "remedy": self.remedy,
        }


class Breach(Exception):
    """Raised by a check; the reader's `Findings` turn it into a violation and go on with the next item."""

    def __init__(self, path: Path | str, field: str, problem: str, remedy: str, reason: Reason = Reason.INVALID_INPUT):
        self.path, self.field, self.problem, self.remedy, self.reason = path, field, problem, remedy, reason
        super().__init__(f"{path}: {field}: {problem}; {remedy}")


@dataclass
class Findings:
    """Collects violations while a dataset is read."""

    violations: list[Violation] = field(default_factory=list)

    def add(self, breach: Breach, concerns: str = "", item: Item | None = None, kept: bool = False) -> None:
        place = portable(breach.path) if isinstance(breach.path, Path) else breach.path
        place, problem = _writable(place), _writable(breach.problem)
        found = Violation(place, breach.field, problem, breach.remedy, breach.reason, concerns, kept, item or Item())
        if found not in self.violations[-50:]:  # a shared file (one sample.json for six models) is reported once per item in a row
            self.violations.append(found)

    @contextmanager
    def guard(self, concerns: str = "", item: Item | None = None) -> Iterator[None]:
        """Record a breach raised inside instead of letting it end the reading."""
        try:
            yield
        except Breach as breach:
            self.add(breach, concerns, item)


def _writable(text: str) -> str:
    """Bytes of a file name that are no UTF-8, and control characters, as escapes: the line can be printed and stored."""
    return one_line(text.encode("utf-8", "backslashreplace").decode())


@dataclass
class Reading:
    """A dataset as read: clips without video facts, spans of time the layout itself knows, violations, and notes for a person."""

    layout: str
    clips: list[Clip] = field(default_factory=list)
    segments: list[dict[str, Any]] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def rejected(self) -> list[dict[str, Any]]:
        """Rows of the `rejected` table, one per distinct line."""
        rows = {(v.path, v.field, v.problem): v.row(self.layout) for v in self.violations if not v.kept}
        return list(rows.values())


def without_duplicates(clips: list[Clip], findings: Findings, where: dict[int, Path | str]) -> list[Clip]:
    """Keep the first clip of every key; the others are violations at `where[id(clip)]` (or at their video)."""
    kept: dict[tuple[str, str, str, str], Clip] = {}
    for clip in clips:
        if clip.key in kept:
            problem = f"the clip id '{clip.clip_id}' of model '{clip.model_id}' occurs a second time"
            place = where.get(id(clip), clip.video)
            findings.add(
                Breach(place, "clip_id", problem, "give every generated video its own id, or remove the copy"), item=Item.of(clip)
            )
        else:
            kept[clip.key] = clip
    return list(kept.values())


def emptied(clip: Clip, name: str) -> Clip:
    """The clip without the value of one field (and without the format that belongs to it)."""
    blank = Clip.model_fields[name].get_default(call_default_factory=True)
    changes = {name: blank}
    if f"{name}_format" in Clip.model_fields:
        changes[f"{name}_format"] = None
    return clip.model_copy(update=changes)
