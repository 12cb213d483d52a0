"""MIND's action.json: when the prediction begins, what was done in every frame, and where the actor was."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from lookback.benchmarks.mind.actions import AXES, action_name, detect_convention
from lookback.clips import Clip
from lookback.errors import Reason
from lookback.layouts.documents import Document, read_json
from lookback.layouts.reading import Breach

POSITIONS = ("actor_pos", "actor_rpy", "camera_pos", "camera_rpy")


@dataclass(frozen=True)
class Actions:
    """A checked action.json."""

    path: Path
    mark_time: int
    total_time: int
    caption: str
    names: tuple[str, ...]  # one action name per ground-truth frame
    convention: str

    def values(self) -> dict[str, Any]:
        """What a clip takes from it."""
        return {
            "mark_time": self.mark_time,
            "gt_frames": self.total_time,
            "prompt": self.caption,
            "extras": {"action_convention": self.convention},
        }

    def segments(self, clip: Clip) -> list[dict[str, Any]]:
        """Runs of equal actions in frames of the generated video, whose first frame is ground-truth frame mark_time."""
        keys = {"benchmark": clip.benchmark, "setting": clip.setting, "model_id": clip.model_id, "clip_id": clip.clip_id}
        rows: list[dict[str, Any]] = []
        start = 0
        for name, run in groupby(self.names[self.mark_time :]):
            end = start + len(list(run))
            rows.append(
                {**keys, "kind": "action", "segment_id": f"action-{len(rows):03d}", "start": start, "end": end, "text": name}
            )
            start = end
        return rows


def read_actions(path: Path, convention: str) -> Actions:
    """Parse and check; `convention` is auto, readme or code (see lookback.benchmarks.mind.actions)."""
    document = Document(read_json(path), path)
    total, mark = document.integer("total_time", low=1), document.integer("mark_time")
    if mark >= total:
        raise Breach(path, "mark_time", f"is {mark}, but the video ends at frame {total}", "mark a frame inside the video")
    rows = document.rows("data")
    if len(rows) != total:
        problem = f"has {len(rows)} rows for {total} frames"
        raise Breach(path, "data", problem, "give one row per frame", Reason.LENGTH_MISMATCH)
    for index, row in enumerate(rows):
        _check_row(path, row, index)
    spoken = detect_convention(rows) if convention == "auto" else convention
    if spoken == "readme" and convention == "readme" and detect_convention(rows) == "code":
        raise Breach(
            path, "data", "holds the value 2, which the README's convention does not have", "set action_convention to code"
        )
    names = tuple(action_name(row, spoken) for row in rows)
    return Actions(path, mark, total, document.text("caption", ""), names, spoken)


def _check_row(path: Path, row: Any, index: int) -> None:
    if not isinstance(row, dict):
        raise Breach(path, f"data[{index}]", "is no mapping", "write time, ws, ad, ud, lr for every frame")
    if row.get("time") != index or isinstance(row.get("time"), bool):
        raise Breach(path, f"data[{index}].time", f"is {row.get('time')!r}, not {index}", "number the frames from 0 without a gap")
    for axis in AXES:
        value = row.get(axis)
        if value is not None and (value not in (0, 1, 2) or not isinstance(value, int) or isinstance(value, bool)):
            raise Breach(path, f"data[{index}].{axis}", f"is {value!r}", "use 0, 1 or 2")
    for name in POSITIONS:
        place = row.get(name)
        if place is None:
            continue
        numbers = [place.get(key) for key in "xyz"] if isinstance(place, dict) else []
        if len(numbers) != 3 or not all(isinstance(n, int | float) and math.isfinite(n) for n in numbers):
            raise Breach(path, f"data[{index}].{name}", "does not hold finite x, y and z", "export the positions again")
