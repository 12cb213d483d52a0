"""Open the inspector: for a run, from a link, or at the clip and frame of a table row.

A link ends in `?run=<name>&clip=<label>&frame=<number>`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import parse_qs

import pandas as pd
from IPython.display import HTML, display

from lookback.clips import KEYS
from lookback.errors import LookbackError, UsageError
from lookback.inspector.run import RunView
from lookback.params import RunParams, load_run

RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # a link can name a run, but never a file
FRAME_COLUMNS = ("frame", "frame_start", "start")


def open_inspector(run: str | RunParams, clip: str = "", frame: int = 0) -> None:
    """Show the inspector in this cell, or a sentence that says what is wrong with the run."""
    from lookback.inspector.widget import ClipInspector

    try:
        params = load_run(run) if isinstance(run, str) else run
        display(ClipInspector(RunView(params), clip, frame))
    except LookbackError as error:
        display(HTML(f"<p role='alert'>{escape(str(error))}</p>"))


def open_row(run: str | RunParams, row: Mapping[str, Any] | pd.Series) -> None:
    """Show the clip that a table row is about (`failures.iloc[0]`, a dict, ...), at the row's frame if it has one."""
    clip, frame = place_of(row)
    open_inspector(run, clip, frame)


def place_of(row: Mapping[str, Any] | pd.Series) -> tuple[str, int]:
    """The clip label and the frame of a table row. For a row about two clips (ratings) it is the first clip."""
    values = {str(name): value for name, value in dict(row).items()}
    values |= {to: values[name] for name, to in (("model_a", "model_id"), ("clip_a", "clip_id")) if name in values}
    lacking = [name for name in KEYS if name not in values]
    if lacking:
        raise UsageError(f"This row names no clip: it lacks the columns {', '.join(lacking)}; give a row with {', '.join(KEYS)}")
    frames = [values[name] for name in FRAME_COLUMNS if name in values and not pd.isna(values[name])]
    return "/".join(str(values[name]) for name in KEYS if values[name]), int(frames[0]) if frames else 0


def deep_link(run: str, clip: str = "", frame: int = 0, query: str | None = None) -> tuple[str, str, int]:
    """Run, clip and frame from the page's address (Voila sets QUERY_STRING); the given values where the address has none."""
    values = parse_qs(os.environ.get("QUERY_STRING", "") if query is None else query)
    asked = values.get("run", [""])[0]
    number = values.get("frame", [""])[0]
    run = asked if RUN_NAME.fullmatch(asked) and not asked.endswith((".yaml", ".yml")) else run
    return run, values.get("clip", [clip])[0], int(number) if number.isdecimal() else frame
