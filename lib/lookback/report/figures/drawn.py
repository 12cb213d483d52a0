"""A figure of the report in two versions from the same numbers: interactive on the page, static in print."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from plotly import graph_objects as go
from plotly.offline import get_plotlyjs

from lookback.figures import PALETTE, SavedFigure, save_figure

LAYOUT = {
    "template": "none",
    "colorway": list(PALETTE),
    "font": {"family": "system-ui, sans-serif", "size": 12, "color": "#1b1f24"},
    "margin": {"l": 60, "r": 20, "t": 40, "b": 60},
    "legend": {"font": {"size": 11}},
    "hoverlabel": {"font": {"size": 12}},
}
BOLD_NUMBER = re.compile(r"<b>-?[\d.]+</b>")
DASHES = ("solid", "dash", "dot", "dashdot")  # the next one is used when all colours are used


def line_look(index: int) -> dict[str, str]:
    """Colour and dash of the index-th model's line; the first 32 differ."""
    return {"color": PALETTE[index % len(PALETTE)], "dash": DASHES[index // len(PALETTE) % len(DASHES)]}


@dataclass(frozen=True)
class DrawnFigure:
    """One figure in both versions. `caption` says what to see and is also the alternative text."""

    name: str
    caption: str
    static: Figure
    interactive: go.Figure

    def save(self, folder: Path) -> str:
        """Write PNG, SVG and PDF, and return the HTML for the page."""
        return fragment(save_figure(self.static, folder, self.name, self.caption), self.interactive)


def fragment(saved: SavedFigure, interactive: go.Figure, on_the_page: str = "") -> str:
    """HTML of the interactive figure; the saved one serves print and readers without scripts. `on_the_page` extends the caption."""
    interactive.update_layout(LAYOUT).update_xaxes(automargin=True).update_yaxes(automargin=True)
    plot = json.dumps(_as_text(json.loads(interactive.to_json()))).replace("<", "\\u003c")
    text, height = html.escape(f"{saved.caption} {on_the_page}".strip()), interactive.layout.height
    return (
        f'<figure id="{html.escape(saved.png.stem)}" class="drawn">'
        f'<div class="plot" style="height:{height:.0f}px" role="img" aria-label="{text}"></div>'
        f'<script type="application/json">{plot}</script>{saved.image()}<figcaption>{text}</figcaption></figure>'
    )


def _as_text(value: Any, key: str = "") -> Any:
    """The figure with escaped text, because plotly would read tags and links in it. Templates are our own and stay as they are."""
    if isinstance(value, dict):
        return {name: _as_text(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_as_text(part, key) for part in value]
    if not isinstance(value, str) or key.endswith("template") or BOLD_NUMBER.fullmatch(value):
        return value
    return html.escape(value, quote=False)


def plotly_script() -> str:
    """The source of plotly.js, so that the page needs no other host."""
    return get_plotlyjs()
