"""MIND's per-frame action axes (ws, ad, ud, lr) and the camera segments they mean.

Two conventions exist. The released code (`code`): 0 = none, 1 = forward / left / up / left, 2 = the opposite. The README
(`readme`): 0 = forward / left / up / left, 1 = the opposite, and an absent key means that the axis rests. A file with any 2 in it
is the former. A run of n equal rows moves over its n - 1 steps; its last frame is the turning point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lookback.camera.intent import CameraIntent, Motion, Segment, motion
from lookback.errors import ParameterError

AXES: dict[str, tuple[str, str, str]] = {
    "ws": ("dolly", "forward", "back"),
    "ad": ("pan", "left", "right"),
    "ud": ("pitch", "up", "down"),
    "lr": ("yaw", "left", "right"),
}
CONVENTIONS = ("code", "readme")


def detect_convention(data: Sequence[Mapping[str, Any]]) -> str:
    """`code` when any axis holds a 2, else `readme`."""
    return "code" if any(row.get(axis) == 2 for row in data for axis in AXES) else "readme"


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


def from_mind(
    data: Sequence[Mapping[str, Any]], units_per_frame: float, degrees_per_frame: float, convention: str | None = None
) -> CameraIntent:
    """Runs of equal actions as segments; each step moves by the given speed. The intent has one frame per row."""
    rows = [_directions(row, convention or detect_convention(data)) for row in data]
    if not rows:
        raise ParameterError("MIND action data is empty; it holds one row per frame.")
    segments: list[Segment] = []
    start = 0
    for index in range(1, len(rows) + 1):
        if index < len(rows) and rows[index] == rows[start]:
            continue
        segments.append(_segment(rows[start], index - start, speeds=(units_per_frame, degrees_per_frame)))
        start = index
    return CameraIntent(tuple(segments))


def _segment(directions: tuple[tuple[str, str], ...], frames: int, speeds: tuple[float, float]) -> Segment:
    steps = frames - 1
    if not directions or steps < 1:
        return Segment((), frames)
    return Segment(tuple(motion(k, d, steps * (speeds[1] if k in ("yaw", "pitch") else speeds[0])) for k, d in directions), frames)


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
    """MIND's group name of a row: `forward`, `look_right`, combined `forward+look_right`, or `none`."""
    names = {"yaw": "look_", "pitch": "look_"}
    words = {"back": "backward"}
    parts = [names.get(kind, "") + words.get(direction, direction) for kind, direction in _directions(row, convention)]
    return "+".join(parts) or "none"
