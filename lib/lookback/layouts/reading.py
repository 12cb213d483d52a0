"""What a layout's reader returns: clips, and one violation for every broken rule of the layout.

Validation prints the violations. Curation writes them into the table `rejected` and goes on with the rest.
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
class ClipRef:
    """Which generated video a violation is about, as far as it is known. Filters select by these names."""

    model_id: str = ""
    subset: str = ""
    condition_id: str = ""
    sample_id: str = ""

    @classmethod
    def of(cls, clip: Clip) -> ClipRef:
        return cls(clip.model_id, clip.subset, clip.condition_id, clip.sample_id)


@dataclass(frozen=True)
class Violation:
    """One broken rule: where, which field, what is wrong, what to do, and the typed reason for the tables."""

    path: str
    field: str
    problem: str
    remedy: str
    reason: Reason
    concerns: str = ""  # the Clip field that cannot be used; empty: the whole clip cannot be used
    kept: bool = False  # the field stays in the clip, and the metric that reads it gives the same reason
    item: ClipRef = ClipRef()
    warning: bool = False  # the clip is usable and scored; its numbers say so

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
    """Raised by a check. `Findings` turns it into a violation, and the reader goes on with the next clip."""

    def __init__(self, path: Path | str, field: str, problem: str, remedy: str, reason: Reason = Reason.INVALID_INPUT):
        self.path, self.field, self.problem, self.remedy, self.reason = path, field, problem, remedy, reason
        super().__init__(f"{path}: {field}: {problem}; {remedy}")


@dataclass
class Findings:
    """Collects violations while a dataset is read."""

    violations: list[Violation] = field(default_factory=list)

    def add(
        self, breach: Breach, concerns: str = "", item: ClipRef | None = None, kept: bool = False, warning: bool = False
    ) -> None:
        place = portable(breach.path) if isinstance(breach.path, Path) else breach.path
        place, problem = _writable(place), _writable(breach.problem)
        found = Violation(place, breach.field, problem, breach.remedy, breach.reason, concerns, kept, item or ClipRef(), warning)
        if found not in self.violations[-50:]:  # one sample.json may serve six models: it is reported once
            self.violations.append(found)

    @contextmanager
    def guard(self, concerns: str = "", item: ClipRef | None = None) -> Iterator[None]:
        """Record a breach that is raised inside, so that reading goes on."""
        try:
            yield
        except Breach as breach:
            self.add(breach, concerns, item)


def _writable(text: str) -> str:
    """The text with control characters and bytes that are not UTF-8 written as escapes, so that it can be printed and stored."""
    return one_line(text.encode("utf-8", "backslashreplace").decode())


@dataclass
class Reading:
    """A dataset as read: clips (their videos are not probed yet), time segments that the layout names, violations, and notes."""

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
                Breach(place, "clip_id", problem, "give every generated video its own id, or remove the copy"),
                item=ClipRef.of(clip),
            )
        else:
            kept[clip.key] = clip
    return list(kept.values())


def emptied(clip: Clip, name: str) -> Clip:
    """The clip without the value of one field (and without the format that belongs to it); `files.masks` is one file."""
    name, _, role = name.partition(".")
    if role:
        return clip.model_copy(update={name: {key: value for key, value in getattr(clip, name).items() if key != role}})
    blank = Clip.model_fields[name].get_default(call_default_factory=True)
    changes = {name: blank}
    if f"{name}_format" in Clip.model_fields:
        changes[f"{name}_format"] = None
    return clip.model_copy(update=changes)


REFUSED = "refused_files"  # in `extras` of a clip: role -> why the file that was named for it cannot be used


def refused(clip: Clip, violation: Violation) -> Clip:
    """The clip with a note about a named file that cannot be used, so that no estimate stands in for it without a word."""
    concerns = violation.concerns
    role = "pose" if concerns == "poses" else concerns.removeprefix("files.") if concerns.startswith("files.") else ""
    if not role:
        return clip
    notes = {**clip.extras.get(REFUSED, {}), role: f"{violation.field} {violation.problem}"}
    return clip.model_copy(update={"extras": {**clip.extras, REFUSED: notes}})
