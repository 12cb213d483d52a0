"""What a notebook shows: figures with their caption, tables with a limit, a heading line from the data."""

from __future__ import annotations

import os
from html import escape
from typing import Any

import pandas as pd
from IPython.display import HTML, Image, display
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from lookback.figures import SavedFigure, png_of


def asked_run(run: str) -> str:
    """The run that `make inspect RUN=name` and `make annotate RUN=name` ask for, else the notebook's own."""
    return os.environ.get("LOOKBACK_RUN") or run


def show(drawn: tuple[Figure, str]) -> None:
    """A figure and, below it, the caption that says what to see."""
    figure, caption = drawn
    display(Image(png_of(figure)))  # not the figure itself: what a kernel makes of that depends on its settings
    plt.close(figure)
    _show_caption(caption)


def show_saved(figure: SavedFigure) -> None:
    """The same for a figure that is on disk already."""
    display(Image(figure.png))
    _show_caption(figure.caption)


def show_heading(text: str) -> None:
    display(HTML(f"<h3>{escape(text)}</h3>"))


def show_words(text: str, footnote: str = "") -> None:
    """A paragraph, and a footnote under it."""
    display(HTML(f"<p style='max-width:80ch'>{escape(text)}</p>"))
    if footnote:
        _show_caption(footnote)


def _show_caption(text: str) -> None:
    display(HTML(f"<p style='max-width:80ch;color:#57606a'>{escape(text)}</p>"))


def show_table(frame: pd.DataFrame, rows: int = 40, caption: str = "") -> None:
    """A table's first rows, and how many more there are."""
    more = f"{len(frame) - rows} more rows" if len(frame) > rows else ""
    text = ". ".join(part for part in (caption, more) if part)
    shown = frame.head(rows).reset_index(drop=True).copy()
    for place in range(shown.shape[1]):
        column = shown.iloc[:, place]
        if not pd.api.types.is_numeric_dtype(column.dtype):
            shown.isetitem(place, pd.Series([_as_text(value) for value in column], dtype=object))
    shown = shown.rename(columns=lambda name: escape(str(name)))
    display(shown.style.hide(axis="index").format(precision=3, na_rep="–").set_caption(escape(text)))


def _as_text(value: Any) -> Any:
    """A cell that HTML shows as it is; numbers and missing values stay, for the table to format."""
    if isinstance(value, bool | int | float) or value is None or value is pd.NA or value is pd.NaT:
        return value
    return escape(str(value))
