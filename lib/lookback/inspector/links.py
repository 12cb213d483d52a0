"""Deep links: `?clip=<label>&frame=<number>` opens the inspector at a frame."""

from __future__ import annotations

import os
from urllib.parse import parse_qs


def deep_link(clip: str = "", frame: int = 0, query: str | None = None) -> tuple[str, int]:
    """The clip and frame of the page's query (Voila hands it over in QUERY_STRING), else the given ones."""
    values = parse_qs(os.environ.get("QUERY_STRING", "") if query is None else query)
    clip = values.get("clip", [clip])[0]
    number = values.get("frame", [str(frame)])[0]
    return clip, int(number) if number.isdigit() else frame
