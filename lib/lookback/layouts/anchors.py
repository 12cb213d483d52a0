"""`anchors.csv` beside any dataset: where the subject is in a clip's first frame, for layouts without a box of their own.

Columns: clip_id, centre_x, centre_y, width, height, in pixels of the video. The embedded mask backend cannot find a subject by
name. With this file it can follow the subject of MemoBench, WRBench, MIND and folder clips too.
"""

from __future__ import annotations

import math
from pathlib import Path

from lookback.clips import Anchor
from lookback.layouts.documents import read_rows
from lookback.layouts.reading import Breach, Findings, Reading

NAME = "anchors.csv"
NUMBERS = ("centre_x", "centre_y", "width", "height")


def with_anchors(reading: Reading, root: Path) -> Reading:
    """The reading with the file's boxes in the clips that have none; a broken row is a violation."""
    path = root / NAME
    if not path.is_file():
        return reading
    anchors: dict[str, Anchor] = {}
    findings = Findings(reading.violations)
    with findings.guard("object_anchor"):
        for where, row in read_rows(path):
            with findings.guard("object_anchor"):
                anchors[row.get("clip_id", "")] = _anchor(row, where)
    clips = [
        clip.model_copy(update={"object_anchor": anchors[clip.clip_id]})
        if clip.object_anchor is None and clip.clip_id in anchors
        else clip
        for clip in reading.clips
    ]
    reading.clips[:] = clips
    return reading


def _anchor(row: dict[str, str], where: str) -> Anchor:
    try:
        values = {name: float(row[name]) for name in NUMBERS}
    except (KeyError, ValueError) as error:
        raise Breach(where, "anchor", f"is no box ({error})", f"give clip_id, {', '.join(NUMBERS)} in pixels") from None
    if not all(math.isfinite(value) for value in values.values()) or min(values["width"], values["height"]) <= 0:
        raise Breach(where, "anchor", "has no finite size above 0", "give width and height in pixels")
    return Anchor(**values)
