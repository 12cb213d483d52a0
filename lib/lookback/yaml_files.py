"""YAML from outside: plain values only, and no document that takes long to refuse."""

from __future__ import annotations

import re
from typing import Any

import yaml

MAX_DEPTH = 100  # PyYAML's time grows with the square of the depth


def parse_yaml(text: str) -> Any:
    """The document's plain values, or a ValueError whose message is one line."""
    depth = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        if depth > MAX_DEPTH:
            raise ValueError(f"it nests more than {MAX_DEPTH} levels deep")
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: the 45th of a 13th month, endless digits
        raise ValueError(" ".join(str(error).split())) from None
