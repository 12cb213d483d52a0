"""Deep links: `?run=<name>&clip=<label>&frame=<number>` opens the inspector at a frame."""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qs

RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # a page's address may name a run, never a file


def deep_link(run: str, clip: str = "", frame: int = 0, query: str | None = None) -> tuple[str, str, int]:
    """Run, clip and frame of the page's address (Voila hands it over in QUERY_STRING), else the given ones."""
    values = parse_qs(os.environ.get("QUERY_STRING", "") if query is None else query)
    asked = values.get("run", [""])[0]
    number = values.get("frame", [""])[0]
    run = asked if RUN_NAME.fullmatch(asked) and not asked.endswith((".yaml", ".yml")) else run
    return run, values.get("clip", [clip])[0], int(number) if number.isdecimal() else frame
