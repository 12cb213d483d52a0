"""Open the inspector: for a run, or at the clip and frame that a row of any table is about."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import pandas as pd
from IPython.display import HTML, display

from lookback.clips import KEYS
from lookback.errors import LookbackError, UsageError
from lookback.inspector.run import RunView
from lookback.params import RunParams, load_run

FRAME_COLUMNS = ("frame", "frame_start", "start")


def open_inspector(run: str | RunParams, clip: str = "", frame: int = 0) -> None:
    """Show the inspector in this cell; what is wrong with the run is said in a sentence."""
    from lookback.inspector.widget import ClipInspector

    try:
        params = load_run(run) if isinstance(run, str) else run
        display(ClipInspector(RunView(params), clip, frame))
    except LookbackError as error:
        display(HTML(f"<p role='alert'>{escape(str(error))}</p>"))


def open_row(run: str | RunParams, row: Mapping[str, Any] | pd.Series) -> None:
    """Show the clip of a table's row (`failures.iloc[0]`, a dict, ...) at the row's frame, if it has one."""
    clip, frame = place_of(row)
    open_inspector(run, clip, frame)


def place_of(row: Mapping[str, Any] | pd.Series) -> tuple[str, int]:
    """The clip's label and the frame that a row is about. A pair of clips (ratings) opens at its first."""
    values = {str(name): value for name, value in dict(row).items()}
    values |= {to: values[name] for name, to in (("model_a", "model_id"), ("clip_a", "clip_id")) if name in values}
    lacking = [name for name in KEYS if name not in values]
    if lacking:
        raise UsageError(f"This row names no clip: it has no column {', '.join(lacking)}; give a row with {', '.join(KEYS)}")
    frames = [values[name] for name in FRAME_COLUMNS if name in values and not pd.isna(values[name])]
    return "/".join(str(values[name]) for name in KEYS if values[name]), int(frames[0]) if frames else 0
