"""MemoBench's clip names: `{Scene}_{NNN}` for synthetic clips; `{NNN}`, `real_{NNN}` or `Real_{NNN}` for real ones."""

from __future__ import annotations

import re
from typing import NamedTuple

_REAL = re.compile(r"^(?:real_)?(\d{1,6})$", re.IGNORECASE)
_SYNTHETIC = re.compile(r"^(.+)_(\d{1,6})$", re.DOTALL)  # a line end in a name is found, to be refused


class ClipName(NamedTuple):
    """A parsed name; `clip_id` is the same for every spelling."""

    setting: str  # synthetic or real
    clip_id: str
    scene: str  # empty for real clips
    number: int


def clip_name(text: str) -> ClipName | None:
    """The clip a file or folder name means, or None."""
    if match := _REAL.match(text):
        return ClipName("real", f"real_{int(match[1]):03d}", "", int(match[1]))
    if match := _SYNTHETIC.match(text):
        return ClipName("synthetic", f"{match[1]}_{int(match[2]):03d}", match[1], int(match[2]))
    return None
