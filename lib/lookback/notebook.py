"""What a notebook shows: figures with their caption, tables with a limit, a heading line from the data."""

from __future__ import annotations

import os

import pandas as pd
from IPython.display import HTML, Image, display
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from lookback.figures import png_of


def asked_run(run: str) -> str:
    """The run that `make inspect RUN=name` and `make annotate RUN=name` ask for, else the notebook's own."""
    return os.environ.get("LOOKBACK_RUN") or run


def show(drawn: tuple[Figure, str]) -> None:
    """A figure and, below it, the caption that says what to see."""
    figure, caption = drawn
    display(Image(png_of(figure)))  # not the figure itself: what a kernel makes of that depends on its settings
    plt.close(figure)
    display(HTML(f"<p style='max-width:80ch;color:#57606a'>{caption}</p>"))


def show_table(frame: pd.DataFrame, rows: int = 40, caption: str = "") -> None:
    """A table's first rows, and how many more there are."""
    more = f"{len(frame) - rows} more rows" if len(frame) > rows else ""
    text = ". ".join(part for part in (caption, more) if part)
    display(frame.head(rows).style.hide(axis="index").format(precision=3, na_rep="–").set_caption(text))
