"""Open the inspector in a notebook: for a run, or at the clip and frame of a table row.

A link ends in `?run=<name>&clip=<label>&frame=<number>`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pandas as pd
from IPython.display import HTML, display

from lookback.clips import KEYS
from lookback.errors import LookbackError, UsageError
from lookback.params import RunParams, load_run

FRAME_COLUMNS = ("frame", "frame_start", "start")
HEIGHT = 900
_servers: dict[tuple[str, Path], Any] = {}  # one server for each run of this kernel, by name and folder


def open_inspector(run: str | RunParams, clip: str = "", frame: int = 0) -> None:
    """Show the inspector in this cell, or a sentence that says what is wrong with the run. It closes with the kernel."""
    with _mistakes_told():
        display(HTML(_page(run if isinstance(run, RunParams) else load_run(run), clip, frame)))


@contextmanager
def _mistakes_told() -> Iterator[None]:
    """A mistake of the user as a sentence in the cell."""
    try:
        yield
    except LookbackError as error:
        display(HTML(f"<p role='alert'>{escape(str(error))}</p>"))


def _page(params: RunParams, clip: str, frame: int) -> str:
    """A frame with the page, and a link for notebooks whose browser runs on another machine or blocks the frame."""
    from lookback.inspector.run import RunView
    from lookback.inspector.server import PORT, InspectorServer
    from lookback.widgets.web import serve_in_thread

    key = params.run, params.paths.root
    if key not in _servers:
        RunView.of_run(params)  # says what is wrong before anything is served
        _servers[key] = serve_in_thread(lambda: InspectorServer(params, PORT, framed=True), "inspector")
    server = _servers[key]
    place = {"run": params.run, **({"clip": clip, "frame": frame} if clip else {})}
    link = escape(f"{server.address}?{urlencode({'token': server.token, **place})}")
    # a notebook at localhost must frame localhost: the page's cookie is for one site alone
    swap = "if (location.hostname === 'localhost') for (const part of [this, this.nextElementSibling.firstElementChild])"
    swap += " for (const name of ['src', 'href']) if (part[name]) part[name] = part[name].replace('//127.0.0.1:', '//localhost:');"
    return (
        f"<iframe title='clip inspector' src='{link}' onload=\"this.onload = null; {swap}\" "
        f"style='width:100%;height:{HEIGHT}px;border:1px solid #8c959f'></iframe>"
        f"<p><a target='_blank' rel='noopener' href='{link}'>Open the inspector in a page of its own</a></p>"
    )


def open_row(run: str | RunParams, row: Mapping[str, Any] | pd.Series) -> None:
    """Show the clip that a table row is about (`failures.iloc[0]`, a dict, ...), at the row's frame if it has one."""
    with _mistakes_told():
        open_inspector(run, *place_of(row))


def place_of(row: Mapping[str, Any] | pd.Series) -> tuple[str, int]:
    """The clip label and the frame of a table row. For a row about two clips (ratings) it is the first clip."""
    values = {str(name): value for name, value in dict(row).items()}
    values |= {to: values[name] for name, to in (("model_a", "model_id"), ("clip_a", "clip_id")) if name in values}
    lacking = [name for name in KEYS if name not in values]
    if lacking:
        raise UsageError(f"This row names no clip: it lacks the columns {', '.join(lacking)}; give a row with {', '.join(KEYS)}")
    frames = [values[name] for name in FRAME_COLUMNS if name in values and not pd.isna(values[name])]
    return "/".join(str(values[name]) for name in KEYS if values[name]), int(frames[0]) if frames else 0
