"""What notebooks show: figures with captions, one figure out of many, tables with a row limit, headings and paragraphs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd
from IPython.display import HTML, DisplayHandle, Image, display
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from lookback.figures import SavedFigure, png_of
from lookback.names import counted
from lookback.paths import UNATTENDED

if TYPE_CHECKING:
    from ipywidgets import Dropdown

Choice = TypeVar("Choice")
CELL_LENGTH = 240  # characters of a text that a table shows
MANY_COLUMNS = 10  # more are shown in smaller letters


def asked_run(run: str) -> str:
    """The run that `make inspect RUN=name` or `make annotate RUN=name` asks for; otherwise the given run."""
    return os.environ.get("LOOKBACK_RUN") or run


def show(drawn: tuple[Figure, str]) -> None:
    """A figure with its caption below."""
    for part in _picture_and_caption(drawn):
        display(part)


def browse(choices: Mapping[str, Choice], draw: Callable[[Choice], tuple[Figure, str]], what: str) -> Dropdown | None:
    """Draw the first choice, with a list of all `choices` above it. An unattended notebook gets no list."""
    from ipywidgets import Dropdown

    if not choices:
        display(HTML(f"<p>There is no {escape(what)} to show.</p>"))
        return None
    names = list(choices)
    chooser = None if os.environ.get(UNATTENDED) else Dropdown(options=names, description=what, layout={"width": "60%"})
    if chooser is not None:
        display(chooser)
    places = (DisplayHandle(), DisplayHandle())
    for place, part in zip(places, _picture_and_caption(draw(choices[names[0]])), strict=True):
        place.display(part)
    if chooser is not None:

        def change(event: dict[str, str]) -> None:
            for place, part in zip(places, _picture_and_caption(draw(choices[event["new"]])), strict=True):
                place.update(part)

        chooser.observe(change, "value")
    return chooser


def _picture_and_caption(drawn: tuple[Figure, str]) -> tuple[Image, HTML]:
    figure, caption = drawn
    picture = Image(png_of(figure), alt=caption)  # not the figure itself: how a kernel shows that depends on its settings
    plt.close(figure)
    return picture, _caption(caption)


def show_saved(figure: SavedFigure) -> None:
    """The same for a saved figure."""
    display(Image(figure.png, alt=figure.caption))
    display(_caption(figure.caption))


def show_heading(text: str) -> None:
    display(HTML(f"<h3>{escape(text)}</h3>"))


def show_words(text: str, footnote: str = "") -> None:
    """A paragraph, with a footnote below if there is one."""
    display(HTML(f"<p style='max-width:80ch'>{escape(text)}</p>"))
    if footnote:
        display(_caption(footnote))


def show_sentences(sentences: Iterable[str]) -> None:
    """Sentences as a list."""
    if rows := "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences):
        display(HTML(f"<ul style='max-width:80ch'>{rows}</ul>"))


def _caption(text: str) -> HTML:
    return HTML(f"<p style='max-width:80ch;color:#57606a'>{escape(text)}</p>")


def show_table(frame: pd.DataFrame, rows: int = 40, caption: str = "") -> None:
    """The first rows of a table, and the number of rows left out. An empty table is not shown.

    Long texts are cut, with the whole text under the pointer; names may break after `_`, `:` and `/`, so that tables stay narrow.
    """
    if frame.empty:
        return
    more = counted(len(frame) - rows, "more row") if len(frame) > rows else ""
    text = ". ".join(part for part in (caption, more) if part)
    shown = frame.head(rows).reset_index(drop=True).copy()
    worded = []
    for place in range(shown.shape[1]):
        column = shown.iloc[:, place]
        if not pd.api.types.is_numeric_dtype(column.dtype):
            worded.append(place)
            shown.isetitem(place, pd.Series([_as_text(value) for value in column], dtype=object))
    shown = shown.rename(columns=lambda name: _breakable(str(name)))
    styles = [{"selector": f".col{place}", "props": "text-align: left"} for place in worded]
    if shown.shape[1] > MANY_COLUMNS:
        styles.append({"selector": "th, td", "props": "font-size: 11px; padding: 2px 4px"})
    display(shown.style.hide(axis="index").format(precision=3, na_rep="–").set_caption(escape(text)).set_table_styles(styles))


def _as_text(value: Any) -> Any:
    """A cell as escaped text. Numbers and missing values stay, because the table formats them."""
    if isinstance(value, bool | int | float) or value is None or value is pd.NA or value is pd.NaT:
        return value
    text = str(value)
    if len(text) <= CELL_LENGTH:
        return _breakable(text)
    return f'<span title="{escape(text)}">{_breakable(text[:CELL_LENGTH])} …</span>'


def _breakable(text: str) -> str:
    return "<wbr>".join(map(escape, re.split("(?<=[_:/])", text)))
