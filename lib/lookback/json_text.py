"""JSON that others wrote. A text nested too deeply is refused before the decoder meets Python's recursion limit.

At that limit Python also runs other objects' finalizers, which then fail: catching the RecursionError would come too late for them.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

DEEPEST = 200  # levels; no document that is read here has ten
STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


class TooDeep(ValueError):
    """The text nests deeper than anything that is read here."""


def loads(text: str | bytes) -> Any:
    """`json.loads`, for a text of at most `DEEPEST` levels."""
    check_depth(text)
    return json.loads(text)


def check_depth(text: str | bytes) -> None:
    """Raises `TooDeep` where lists and mappings nest more than `DEEPEST` levels. Brackets in quotes do not count."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if raw.count(b"[") + raw.count(b"{") <= DEEPEST:
        return
    letters = np.frombuffer(STRING.sub(b"", raw), np.uint8)
    opens = (letters == ord("[")) | (letters == ord("{"))
    brackets = opens | (letters == ord("]")) | (letters == ord("}"))
    if np.where(opens[brackets], 1, -1).cumsum().max(initial=0) > DEEPEST:
        raise TooDeep(f"nested more than {DEEPEST} levels deep")
