"""`anchors.csv` beside any dataset: where the subject is in a clip's first frame, for layouts without a box of their own.

Columns: clip_id, centre_x, centre_y, width, height, and model_id if wanted. The numbers are shares of the picture (all four at most
1), so that one row serves the sizes of all models, or pixels of the video. A row with a model_id goes before the clip's common row.
A row whose four numbers are empty says that the subject is not in the first frame. Other columns are ignored.

The embedded mask backends cannot find a subject by name. With this file they can follow the subject of MemoBench, WRBench, MIND and
folder clips too.
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
    anchors: dict[tuple[str, str], Anchor | None] = {}  # by clip and model; the model "" stands for all
    findings = Findings(reading.violations)
    with findings.guard("object_anchor"):
        for where, row in read_rows(path):
            with findings.guard("object_anchor"):
                anchors[row.get("clip_id") or "", row.get("model_id") or ""] = _anchor(row, where)
    for number, clip in enumerate(reading.clips):
        anchor = anchors.get((clip.clip_id, clip.model_id), anchors.get((clip.clip_id, "")))
        if clip.object_anchor is None and anchor is not None:
            reading.clips[number] = clip.model_copy(update={"object_anchor": anchor})
    return reading


def _anchor(row: dict[str, str], where: str) -> Anchor | None:
    if not any((row.get(name) or "").strip() for name in NUMBERS):
        return None
    try:
        values = {name: float(row[name]) for name in NUMBERS}
    except (KeyError, TypeError, ValueError) as error:
        remedy = f"give clip_id, {', '.join(NUMBERS)} as shares of the picture or in pixels"
        raise Breach(where, "anchor", f"is no box ({error})", remedy) from None
    sizes = values["width"], values["height"]
    if not all(math.isfinite(value) for value in values.values()) or min(sizes) <= 0:
        raise Breach(where, "anchor", "has no finite size above 0", "give width and height as shares of the picture or in pixels")
    if min(sizes) < 1 < max(values.values()):
        raise Breach(
            where, "anchor", "mixes shares of the picture with pixels", "give all four numbers as shares, or all in pixels"
        )
    return Anchor(**values)
