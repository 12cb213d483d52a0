"""One figure out of many: the first stands in the notebook, and whoever sits before it chooses another from a list."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Mapping
from typing import TypeVar

from IPython.display import HTML, DisplayHandle, Image, display
from ipywidgets import Dropdown
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from lookback.figures import png_of
from lookback.paths import UNATTENDED

Choice = TypeVar("Choice")


def browse(choices: Mapping[str, Choice], draw: Callable[[Choice], tuple[Figure, str]], what: str) -> Dropdown | None:
    """Draw the first choice; with a list of all `choices` by name above it, unless the notebook runs unattended."""
    if not choices:
        display(HTML(f"<p>There is no {html.escape(what)} to show.</p>"))
        return None
    names = list(choices)
    chooser = None if os.environ.get(UNATTENDED) else Dropdown(options=names, description=what, layout={"width": "60%"})
    if chooser is not None:
        display(chooser)
    places = (DisplayHandle(), DisplayHandle())
    for place, part in zip(places, _drawn(draw(choices[names[0]])), strict=True):
        place.display(part)
    if chooser is not None:

        def change(event: dict[str, str]) -> None:
            for place, part in zip(places, _drawn(draw(choices[event["new"]])), strict=True):
                place.update(part)

        chooser.observe(change, "value")
    return chooser


def _drawn(drawn: tuple[Figure, str]) -> tuple[Image, HTML]:
    figure, caption = drawn
    picture = Image(png_of(figure))
    plt.close(figure)
    return picture, HTML(f"<p style='max-width:80ch;color:#57606a'>{html.escape(caption)}</p>")
