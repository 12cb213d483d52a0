"""A figure of the report: interactive on the page, static in print, from the same numbers."""

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
DASHES = ("solid", "dash", "dot", "dashdot")  # one after the other, when the colours are used up


def line_look(index: int) -> dict[str, str]:
    """The look of the index-th model's line: no two alike among 32."""
    return {"color": PALETTE[index % len(PALETTE)], "dash": DASHES[index // len(PALETTE) % len(DASHES)]}


@dataclass(frozen=True)
class DrawnFigure:
    """One figure in both drawings; `caption` says what to see and is the alternative text."""

    name: str
    caption: str
    static: Figure
    interactive: go.Figure

    def save(self, folder: Path) -> str:
        """Write PNG, SVG, PDF, and return the fragment for the page."""
        return fragment(save_figure(self.static, folder, self.name, self.caption), self.interactive)


def fragment(saved: SavedFigure, interactive: go.Figure, on_the_page: str = "") -> str:
    """The interactive drawing, with the saved one for print and for readers without scripts; `on_the_page` joins its caption."""
    interactive.update_layout(LAYOUT).update_xaxes(automargin=True).update_yaxes(automargin=True)
    plot = json.dumps(_as_text(json.loads(interactive.to_json()))).replace("<", "\\u003c")
    text, height = html.escape(f"{saved.caption} {on_the_page}".strip()), interactive.layout.height
    return (
        f'<figure id="{html.escape(saved.png.stem)}" class="drawn">'
        f'<div class="plot" style="height:{height:.0f}px" role="img" aria-label="{text}"></div>'
        f'<script type="application/json">{plot}</script>{saved.image()}<figcaption>{text}</figcaption></figure>'
    )


def _as_text(value: Any, key: str = "") -> Any:
    """A drawing whose names and words are shown as they are: plotly reads tags in them, and links. Templates are our own."""
    if isinstance(value, dict):
        return {name: _as_text(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_as_text(part, key) for part in value]
    if not isinstance(value, str) or key.endswith("template") or BOLD_NUMBER.fullmatch(value):
        return value
    return html.escape(value, quote=False)


def plotly_script() -> str:
    """The library itself: the page asks no host for it."""
    return get_plotlyjs()
