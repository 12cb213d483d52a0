"""Filters by model, subset, condition and sample. A name that does not occur is an error that lists the valid names."""

from __future__ import annotations

from difflib import get_close_matches

from lookback.clips import Clip
from lookback.errors import UsageError
from lookback.layouts.reading import ClipRef, Reading, Violation
from lookback.names import listing
from lookback.params.stages import Filters

FIELDS = {"models": "model_id", "subsets": "subset", "conditions": "condition_id", "sample_ids": "sample_id"}
MAX_LISTED = 20


def apply_filters(readings: list[Reading], filters: Filters) -> list[Reading]:
    """The readings with only what the filters keep; `limit` counts clips over all sources, in key order."""
    check_names(readings, filters)
    kept = [
        Reading(
            reading.layout,
            [clip for clip in reading.clips if _keeps(filters, ClipRef.of(clip))],
            reading.segments,
            [violation for violation in reading.violations if _keeps(filters, violation.item, unknown_passes=True)],
            list(reading.notes),
        )
        for reading in readings
    ]
    if filters.limit is not None:
        allowed = set(sorted(clip.key for reading in kept for clip in reading.clips)[: filters.limit])
        for reading in kept:
            reading.clips = [clip for clip in reading.clips if clip.key in allowed]
    for reading in kept:
        keys = {clip.key for clip in reading.clips}
        reading.segments = [row for row in reading.segments if segment_key(row) in keys]
    return kept


def check_names(readings: list[Reading], filters: Filters) -> None:
    """A UsageError for the first name that no clip and no rejected item has."""
    for option, field in FIELDS.items():
        known = {getattr(item, field) for reading in readings for item in _items(reading)} - {""}
        for name in getattr(filters, option):
            if name not in known:
                raise UsageError(_unknown(option, name, sorted(known)))


def segment_key(row: dict[str, object]) -> tuple[object, ...]:
    return (row["benchmark"], row["setting"], row["model_id"], row["clip_id"])


def _items(reading: Reading) -> list[ClipRef]:
    return [ClipRef.of(clip) for clip in reading.clips] + [violation.item for violation in reading.violations]


def _unknown(option: str, name: str, known: list[str]) -> str:
    what = option.removesuffix("s").replace("_", " ")
    if not known:
        return f"The filter {option} names '{name}', but the data has no {what}s; leave the filter out"
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    return f"The filter {option} names '{name}', which the data does not have; {hint}valid: {listing(known, MAX_LISTED)}"


def _keeps(filters: Filters, item: ClipRef, unknown_passes: bool = False) -> bool:
    """Whether a clip passes. A violation whose clip is only partly known (a broken line) is never filtered out."""
    for option, field in FIELDS.items():
        wanted, value = getattr(filters, option), getattr(item, field)
        if wanted and value not in wanted and not (unknown_passes and value == ""):
            return False
    return True


def concerning(violations: list[Violation], clips: list[Clip]) -> list[Violation]:
    """The violations about these clips, shared files and broken items. Those of clips beyond `limit` are left out."""
    items = {ClipRef.of(clip) for clip in clips}
    return [v for v in violations if not v.concerns or not v.item.model_id or v.item in items]
