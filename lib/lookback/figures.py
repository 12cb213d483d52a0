"""How figures look and how they are saved. The palette is safe for colour-blind readers and readable in print.

The same data give the same bytes: dates and random ids are left out of the files."""

from __future__ import annotations

import base64
import html
import io
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

if not os.environ.get("MPLBACKEND"):  # a notebook kernel sets its own backend, which shows figures inline
    matplotlib.use("agg", force=False)
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from lookback.files import atomic_path, write_text

# Okabe and Ito's eight colours, distinguishable with every common colour-vision deficiency
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")
PHASE_COLOURS = {"V": "#009E73", "D": "#999999", "R": "#0072B2"}
STATES = {  # the state codes of the mask artifact, in words and in colour
    -1: ("not known", "#57606a"),
    0: ("out", "#d0d7de"),
    1: ("in view", PALETTE[2]),
    2: ("partly in view", PALETTE[1]),
    3: ("returned", PALETTE[0]),
}
MARGIN = 0.1  # inches around a saved figure
QUICK = {"compress_level": 1}  # a PNG file is a tenth larger and written in half the time
STYLE: Any = {
    "figure.dpi": 110,
    "savefig.dpi": 150,
    "font.size": 9,
    "text.parse_math": False,  # a model may be called "a$b$c"
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=PALETTE),
    "svg.hashsalt": "lookback",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the project's style. A sign that the font lacks (a model may be called by an emoji) becomes a box without a word."""
    with plt.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from")
        yield


def short_names(metrics: Iterable[str]) -> dict[str, str]:
    """Each metric without the name of its benchmark, where that leaves no two alike."""
    short = {metric: metric.partition(".")[2] or metric for metric in metrics}
    seen = Counter(short.values())
    return {metric: name if seen[name] == 1 else metric for metric, name in short.items()}


def heatmap(axes: Axes, values: pd.DataFrame, words: np.ndarray, *, colours: str, low: float, high: float, label: str = "") -> None:
    """A table as coloured cells with `words` inside. A missing cell stays white but shows its word.

    `label` names the colour bar; without a label no bar is drawn. The centre of cell (row, column) is (column + 0.5, row + 0.5).
    """
    import seaborn  # slow to import, and only figures need it

    seaborn.heatmap(
        values.astype(float), ax=axes, cmap=colours, vmin=low, vmax=high, annot=words, fmt="", annot_kws={"fontsize": 6.5},
        xticklabels=list(values.columns), yticklabels=list(values.index),
        cbar=bool(label), cbar_kws={"label": label, "shrink": 0.7},
    )  # fmt: skip
    for row, column in np.argwhere(values.isna().to_numpy()):
        axes.text(column + 0.5, row + 0.5, words[row, column], ha="center", va="center", fontsize=6.5, color="#666666")
    axes.tick_params(length=0)
    axes.tick_params(axis="y", rotation=0)
    for text in axes.get_xticklabels():
        text.set(rotation=45, ha="right", rotation_mode="anchor")


def png_of(figure: Figure) -> bytes:
    """The figure as PNG bytes, drawn as it would be saved."""
    packed = io.BytesIO()
    with style():
        figure.savefig(packed, format="png", bbox_inches="tight", pil_kwargs=QUICK)
    return packed.getvalue()


def image_html(data: bytes, kind: str, text: str, lazy: bool = False) -> str:
    """An HTML image that holds the encoded picture itself; `text` is its alternative text."""
    loading = ' loading="lazy"' if lazy else ""
    return f'<img src="data:image/{kind};base64,{base64.b64encode(data).decode()}" alt="{html.escape(text)}"{loading}>'


@dataclass(frozen=True)
class SavedFigure:
    """A figure on disk, with the caption that says what to see."""

    png: Path
    caption: str

    def image(self) -> str:
        """An HTML image that holds the picture itself, with the caption as alternative text."""
        packed = io.BytesIO()
        with Image.open(self.png) as picture:
            picture.convert("RGB").save(packed, "WEBP", quality=88, method=2)  # a third of the PNG beside it
        return image_html(packed.getvalue(), "webp", self.caption)

    def to_html(self) -> str:
        """The image with its caption below."""
        return (
            f'<figure id="{html.escape(self.png.stem)}">{self.image()}<figcaption>{html.escape(self.caption)}</figcaption></figure>'
        )


def save_figure(figure: Figure, folder: Path, name: str, caption: str) -> SavedFigure:
    """Write PNG, SVG and PDF, and close the figure."""
    with style():  # compute the layout once, not once per format
        figure.draw_without_rendering()
        figure.set_layout_engine(None)  # "none" would leave a placeholder, with which every format is drawn twice
        paper = figure.get_tightbbox().padded(MARGIN)
    without_dates: dict[str, dict[str, Any]] = {
        ".png": {"metadata": {"Software": None}, "pil_kwargs": QUICK},
        ".svg": {"metadata": {"Date": None}},
        ".pdf": {"metadata": {"CreationDate": None}},
    }
    for suffix, options in without_dates.items():
        with atomic_path(folder / f"{name}{suffix}") as temporary, style():
            figure.savefig(temporary, bbox_inches=paper, **options)
    write_text(folder / f"{name}.txt", caption)  # the report reads figures back with their captions
    plt.close(figure)
    return SavedFigure(folder / f"{name}.png", caption)


def saved_figures(folder: Path) -> list[SavedFigure]:
    """The figures saved in a folder, each with its caption."""
    return [
        SavedFigure(png, png.with_suffix(".txt").read_text())
        for png in sorted(folder.glob("*.png"))
        if png.with_suffix(".txt").is_file()
    ]
