"""The action of each frame from MIND's action.json, in either of its two conventions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from lookback.errors import NotScorable, Reason

Convention = Literal["readme", "released"]
AXES: dict[str, tuple[str, str]] = {
    "ws": ("forward", "backward"),
    "ad": ("left", "right"),
    "ud": ("look_up", "look_down"),
    "lr": ("look_left", "look_right"),
}
FIRST_CODE = {"readme": 0, "released": 1}  # the code of the axis' first action; the second's is one more
NO_ACTION = "none"


def detect_convention(rows: Iterable[Mapping[str, Any]]) -> Convention:
    """The README codes each axis as 0/1; the released code reads 0 = none, 1, 2. A file with any 2 in it is the latter."""
    return "released" if any(row.get(axis) == 2 for row in rows for axis in AXES) else "readme"


def action_labels(rows: Iterable[Mapping[str, Any]], convention: Convention | None = None) -> list[str]:
    """One label per row of action.json's `data`: actions at once join with "+", "none" when there is none."""
    records = list(rows)
    return [_label(row, index, convention or detect_convention(records)) for index, row in enumerate(records)]


def _label(row: Mapping[str, Any], index: int, convention: Convention) -> str:
    parts = []
    for axis, names in AXES.items():
        code = row.get(axis)
        if code is None:
            continue
        choice = code - FIRST_CODE[convention]
        if choice in (0, 1):
            parts.append(names[choice])
        elif not (convention == "released" and code == 0):
            raise NotScorable(
                Reason.INVALID_INPUT, f"action.json row {index}: {axis} = {code} is no code of the {convention} convention"
            )
    return "+".join(parts) or NO_ACTION
