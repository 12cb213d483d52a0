"""MIND's action.json: when the prediction begins, and what was done in every frame.

Every row has the axes ws, ad, ud, lr. Two conventions exist. The released code (`code`): 0 = none, 1 = forward / left / up / left,
2 = the opposite. The README (`readme`): 0 = forward / left / up / left, 1 = the opposite, and an absent key means no motion on that
axis. A file that contains a 2 follows `code`, and so does one whose every row has all four axes: read as the README says, its
camera would move on all of them in every frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from lookback.camera.intent import CameraIntent, Motion
from lookback.clips import Clip
from lookback.errors import ParameterError, Reason
from lookback.layouts.documents import Document, is_finite, read_json
from lookback.layouts.reading import Breach
from lookback.paths import portable

AXES: dict[str, tuple[str, str, str]] = {
    "ws": ("dolly", "forward", "back"),
    "ad": ("pan", "left", "right"),
    "ud": ("pitch", "up", "down"),
    "lr": ("yaw", "left", "right"),
}
CONVENTIONS = ("code", "readme")
NO_ACTION = "no_op"  # the released code's word for a resting frame


def detect_convention(data: Sequence[Mapping[str, Any]]) -> str:
    """`code` when any axis holds a 2 or no row lacks an axis, else `readme`."""
    opposite = any(row.get(axis) == 2 for row in data for axis in AXES)
    return "code" if opposite or all(axis in row for row in data for axis in AXES) else "readme"


def _directions(row: Mapping[str, Any], convention: str) -> tuple[tuple[str, str], ...]:
    offset = 1 if convention == "code" else 0
    out = []
    for axis, (kind, *directions) in AXES.items():
        value = row.get(axis)
        if value is None or (convention == "code" and value == 0):
            continue
        if value not in (offset, offset + 1):
            raise ParameterError(f"MIND action {axis}={value} at frame {row.get('time')} is not in the {convention} convention.")
        out.append((kind, directions[int(value) - offset]))
    return tuple(out)


def to_mind(intent: CameraIntent, convention: str = "code") -> list[dict[str, int]]:
    """One row of axes per frame. Kinds that MIND has no axis for (roll, crane) are a `ParameterError`."""
    if convention not in CONVENTIONS:
        raise ParameterError(f"MIND action convention '{convention}' is unknown; valid are {', '.join(CONVENTIONS)}.")
    offset = 1 if convention == "code" else 0
    axis_of = {kind: (axis, directions) for axis, (kind, *directions) in AXES.items()}
    rows: list[dict[str, int]] = []
    for segment in intent.segments:
        values: dict[str, int] = {} if convention == "readme" else dict.fromkeys(AXES, 0)
        for item in segment.motions:
            values |= _axis_value(item, axis_of, offset)
        rows += [{"time": len(rows) + step, **values} for step in range(segment.frames)]
    return rows


def _axis_value(item: Motion, axis_of: Mapping[str, tuple[str, list[str]]], offset: int) -> dict[str, int]:
    if item.kind not in axis_of:
        raise ParameterError(f"MIND has no action axis for '{item.kind}'; its axes are {', '.join(AXES)}.")
    axis, directions = axis_of[item.kind]
    return {axis: directions.index(item.direction) + offset}


def action_name(row: Mapping[str, Any], convention: str) -> str:
    """MIND's label of a row: `forward`, `look_right`, combined `forward+look_right`, or `no_op`."""
    names = {"yaw": "look_", "pitch": "look_"}
    words = {"back": "backward"}
    parts = [names.get(kind, "") + words.get(direction, direction) for kind, direction in _directions(row, convention)]
    return "+".join(parts) or NO_ACTION


def released_name(row: Mapping[str, Any]) -> str:
    """The label that the released code gives: every axis must be there, and only 1 and 2 mean something."""
    if missing := [axis for axis in AXES if axis not in row]:
        raise ParameterError(
            f"MIND action at frame {row.get('time')} has no '{missing[0]}', without which the released code stops."
        )
    return action_name({axis: row[axis] if row[axis] in (1, 2) else 0 for axis in AXES}, "code")


POSITIONS = ("actor_pos", "actor_rpy", "camera_pos", "camera_rpy")


@dataclass(frozen=True)
class Times:
    """What an action.json says about the whole task. It can be used even where a row of the file cannot."""

    path: Path
    mark_time: int
    total_time: int
    caption: str

    def values(self) -> dict[str, Any]:
        """What a clip takes from it."""
        return {"mark_time": self.mark_time, "gt_frames": self.total_time, "prompt": self.caption}


@dataclass(frozen=True)
class Actions(Times):
    """A checked action.json."""

    names: tuple[str, ...]  # one action name per ground-truth frame
    convention: str

    def values(self) -> dict[str, Any]:
        return {**super().values(), "actions": portable(self.path), "extras": {"action_convention": self.convention}}

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
    """Parse and check all of it; `convention` is auto, readme or code (see lookback.benchmarks.mind.actions)."""
    document = Document(read_json(path), path)
    return with_names(read_times(document, path), document, convention)


def read_times(document: Document, path: Path) -> Times:
    """What the file says about the whole task; its rows are not looked at."""
    total, mark = document.integer("total_time", low=1), document.integer("mark_time")
    if mark >= total:
        raise Breach(path, "mark_time", f"is {mark}, but the video ends at frame {total}", "mark a frame inside the video")
    return Times(path, mark, total, _caption(document))


def with_names(times: Times, document: Document, convention: str) -> Actions:
    """The times with the name of every frame's action."""
    path, rows = times.path, document.rows("data")
    if len(rows) != times.total_time:
        problem = f"has {len(rows)} rows for {times.total_time} frames"
        raise Breach(path, "data", problem, "give one row per frame", Reason.LENGTH_MISMATCH)
    for index, row in enumerate(rows):
        _check_row(path, row, index)
    spoken = detect_convention(rows) if convention == "auto" else convention
    if spoken == "readme" and convention == "readme" and detect_convention(rows) == "code":
        raise Breach(
            path, "data", "holds the value 2, which the README's convention does not have", "set action_convention to code"
        )
    names = tuple(action_name(row, spoken) for row in rows)
    return Actions(path, times.mark_time, times.total_time, times.caption, names, spoken)


def _caption(document: Document) -> str:
    """The caption. It may be absent or empty: only metrics that need a prompt miss it."""
    value = document.get("caption")
    return "" if value is None or (isinstance(value, str) and not value.strip()) else document.text("caption")


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
        if len(numbers) != 3 or not all(isinstance(n, int | float) and is_finite(n) for n in numbers):
            raise Breach(path, f"data[{index}].{name}", "does not hold finite x, y and z", "export the positions again")
