"""From sources to tables: read the sources, filter, inspect every clip in parallel, and collect the rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import pandas as pd

from lookback.clips import KEYS, Clip, clips_to_frame
from lookback.curation.contents import refusals
from lookback.curation.inspection import ClipToInspect, Inspection, inspect_all
from lookback.curation.probing import Cache, producer
from lookback.curation.segments import clipped
from lookback.errors import ContractError
from lookback.hashcache import HashCache
from lookback.layouts import Reading, apply_filters, read
from lookback.layouts.filters import segment_key
from lookback.layouts.reading import ClipRef, Violation, refused
from lookback.names import one_line
from lookback.params import RunParams
from lookback.params.stages import Source
from lookback.paths import resolve, shown
from lookback.progress import track
from lookback.store import ArtifactStore
from lookback.tables import SCHEMAS, empty_table


@dataclass
class Collected:
    """The four tables of the curation stage, and the readers' notes."""

    clips: pd.DataFrame
    segments: pd.DataFrame
    rejected: pd.DataFrame
    screen: pd.DataFrame
    notes: list[str] = field(default_factory=list)


def collect(params: RunParams, sources: list[Source], only: Collection[tuple[str, ...]] | None = None) -> Collected:
    """Read all sources of a run and inspect every clip once. Unchanged files are not hashed or decoded again.

    `only` keeps the clips with these keys.
    """
    readings = apply_filters([read(source) for source in sources], params.curation.filters)
    _refuse_shared_keys(readings)
    if only is not None:
        for reading in readings:
            reading.clips = [clip for clip in reading.clips if clip.key in only]
            reading.segments = [row for row in reading.segments if segment_key(row) in only]
    jobs = [(reading, clip) for reading in readings for clip in _with_refusals(reading)]
    hashes = HashCache.of_project()
    cache = Cache(ArtifactStore(params.paths.artifacts), producer())
    tasks = [ClipToInspect(clip, _known(hashes, clip), cache) for _, clip in jobs]
    rows = _Rows()
    own: dict[tuple[Any, ...], list[dict[str, Any]]] = {clip.key: [] for _, clip in jobs}
    for reading in readings:
        for row in reading.segments:
            own[segment_key(row)].append(row)
    for index, result in track(inspect_all(tasks, _workers(tasks, params.workers)), "probing", total=len(tasks)):
        reading, clip = jobs[index]
        if result.digest and not tasks[index].digest:
            with suppress(OSError):  # the file has gone since it was inspected
                hashes.remember_content(resolve(clip.video), result.digest)
        rows.add(reading.layout, result, own[clip.key])
    hashes.save()
    for reading in readings:
        rows.rejected += reading.rejected
    return rows.tables([note for reading in readings for note in reading.notes])


def _with_refusals(reading: Reading) -> Iterator[Clip]:
    """The clips, each with a note for every file that was named for it and that its reader refused."""
    of_item: dict[ClipRef, list[Violation]] = {}
    for violation in reading.violations:
        if not violation.kept:
            of_item.setdefault(violation.item, []).append(violation)
    for clip in reading.clips:
        yield reduce(refused, of_item.get(ClipRef.of(clip), []), clip)


def _workers(tasks: list[ClipToInspect], most: int) -> int:
    """How many processes to start. One takes two seconds to start: as long as decoding 8 new clips or checking 500 known ones."""
    fresh = sum(not task.digest for task in tasks)
    return min(most, 1 + fresh // 8 + (len(tasks) - fresh) // 500)


def _known(hashes: HashCache, clip: Clip) -> str:
    try:
        return hashes.known_content(resolve(clip.video))
    except OSError:  # the file has gone since it was listed; the inspection reports it
        return ""


def _refuse_shared_keys(readings: list[Reading]) -> None:
    """Two sources that hold the same clip of the same model would overwrite each other."""
    seen: dict[tuple[str, str, str, str], str] = {}
    for reading in readings:
        for clip in reading.clips:
            if clip.key in seen:
                raise ContractError(
                    f"Two sources hold the clip {clip.label} ({seen[clip.key]} and {clip.video}); remove one source or filter it"
                )
            seen[clip.key] = clip.video


def rejected_line(rejected: pd.DataFrame, table: Path) -> str:
    """How many things of the dataset cannot be used, and the first of them."""
    first = rejected.iloc[0]
    said = f"{shown(resolve(first['path']))}: {first['field']}: {first['problem']}; {first['remedy']}"
    return one_line(f"{refusals(rejected)}, see {shown(table)}. The first: {said}")


@dataclass
class _Rows:
    clips: list[Clip] = field(default_factory=list)
    segments: list[dict[str, Any]] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)
    screen: list[dict[str, Any]] = field(default_factory=list)

    def add(self, layout: str, found: Inspection, own_segments: list[dict[str, Any]]) -> None:
        self.rejected += [violation.row(layout) for violation in found.violations if not violation.kept]
        if found.clip is None:
            return
        self.clips.append(found.clip)
        self.segments += found.segments + clipped(own_segments, found.clip.n_frames or 0)
        self.screen.append(found.screen)

    def tables(self, notes: list[str]) -> Collected:
        clips = clips_to_frame(sorted(self.clips, key=lambda clip: clip.key))
        screen = _mark_duplicates(_frame("screen", self.screen), clips)
        rejected = _frame("rejected", self.rejected).drop_duplicates(["path", "field", "problem"])
        return Collected(clips, _frame("segments", self.segments), rejected, screen, notes)


def _frame(name: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(SCHEMAS[name].columns)) if rows else empty_table(name)


def _mark_duplicates(screen: pd.DataFrame, clips: pd.DataFrame) -> pd.DataFrame:
    """Fill `duplicate_of`: for a clip with the same content as an earlier one (in key order), the name of that one."""
    first: dict[str, str] = {}
    copies: dict[tuple[str, ...], str] = {}
    for row in clips[[*KEYS, "content_hash"]].itertuples(index=False, name=None):
        *key, content = row
        label = "/".join(part for part in key if part)
        if content in first:
            copies[tuple(key)] = first[content]
        first.setdefault(content, label)
    keys = [tuple(key) for key in screen[KEYS].itertuples(index=False, name=None)]
    return screen.assign(duplicate_of=pd.Series([copies.get(key, "") for key in keys], index=screen.index, dtype="object"))
