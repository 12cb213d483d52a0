"""Radar profiles (MBench figure 1, MemoBench S17): the strengths of each model compared with the other models of a table."""

from __future__ import annotations

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from plotly import graph_objects as go

from lookback.figures import PALETTE, style
from lookback.report.figures.drawn import DrawnFigure, line_look
from lookback.report.table import PaperTable, as_printed

COLUMNS, OPENED = 3, 3  # panels per row in print; models shown when the page opens
FEWEST_AXES, FEWEST_MODELS = 3, 3  # of two models, one is at the centre and one on the rim of every axis
CLOCKWISE = {"rotation": 90, "direction": "clockwise"}  # from the top
CENTRE = 0.1  # radius of the worst model, so that its outline still has a shape
NAME, NAME_LINES = 32, 3  # characters of a line of a model's name, and lines
APART = (3.8, 3.3)  # distance between the small radars, in radii


def profile(table: PaperTable) -> DrawnFigure | None:
    """A table as profiles with its columns as axes; None with fewer than three models, or columns in which they differ."""
    numbers = table.frame.set_index("model")[list(table.better)].apply(pd.to_numeric)
    apart = [column for column in numbers if as_printed(numbers[column], table.digits.get(column, 2)).nunique() > 1]
    if len(apart) < FEWEST_AXES or numbers[apart].notna().any(axis=1).sum() < FEWEST_MODELS:
        return None
    places = relative(numbers[apart], table.better)
    empty = [column for column in numbers if numbers[column].isna().all()]
    alike = [column for column in numbers if column not in [*apart, *empty]]
    caption = f"{table.title}, as profiles. Every axis runs from the worst model of this run (centre) to the best (rim); "
    caption += "a gap is a cell without a value."
    if alike:
        caption += f" Left out, because they do not tell the models apart: {', '.join(alike)}."
    if empty:
        caption += f" Left out, because they have no values: {', '.join(empty)}."
    caption += " In the page, a click on a name shows or hides a model."
    return DrawnFigure(f"profile-{table.id}", caption, _static(places), _interactive(places, numbers))


def relative(numbers: pd.DataFrame, better: dict[str, bool]) -> pd.DataFrame:
    """0 for the worst model of each column, 1 for the best."""
    signed = numbers * [1 if better[column] else -1 for column in numbers]
    low, high = signed.min(), signed.max()
    return (signed - low) / (high - low)


def _static(places: pd.DataFrame) -> Figure:
    """A grid of small radars on one pair of axes, because matplotlib needs seconds for each polar axis."""
    count = places.shape[1]
    angles = np.pi / 2 - np.linspace(0, 2 * np.pi, count, endpoint=False)  # clockwise from the top
    spokes = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rings = [_closed(radius * spokes) for radius in (0.5, 1.0)]
    outlines = [_closed((CENTRE + (1 - CENTRE) * own[:, None]) * spokes) for own in places.to_numpy()]
    rows = -(-len(places) // COLUMNS)
    with style():
        figure, axes = plt.subplots(figsize=(3.7 * COLUMNS, 3.3 * rows), layout="constrained")
        for number, (model, own) in enumerate(zip(places.index, outlines, strict=True)):
            middle = np.array([APART[0] * (number % COLUMNS), -APART[1] * (number // COLUMNS)])
            frame = [*rings, *(np.stack([[0, 0], spoke]) for spoke in spokes)]
            axes.add_collection(LineCollection([line + middle for line in frame], colors="#e3e6ea", linewidths=0.6))
            axes.add_collection(LineCollection([line + middle for line in outlines], colors="#b9bec5", linewidths=0.6))
            axes.plot(*(own + middle).T, color=PALETTE[0], linewidth=1.8, marker="o", markersize=2.5)
            title = fill(str(model), NAME, max_lines=NAME_LINES, placeholder=" ...")
            axes.text(middle[0], middle[1] + 1.42, title, ha="center", fontsize=9)
            for (x, y), name in zip(spokes, places.columns, strict=True):
                side = "center" if abs(x) < 0.2 else "left" if x > 0 else "right"
                axes.text(middle[0] + 1.08 * x, middle[1] + 1.12 * y, name, ha=side, va="center", fontsize=6)
        axes.set(aspect="equal", xlim=(-1.9, APART[0] * (COLUMNS - 1) + 1.9), ylim=(-APART[1] * (rows - 1) - 1.3, 1.6))
        axes.axis("off")
        return figure


def _closed(points: np.ndarray) -> np.ndarray:
    return np.concatenate([points, points[:1]])


def _interactive(places: pd.DataFrame, numbers: pd.DataFrame) -> go.Figure:
    axes = [*places.columns, places.columns[0]]
    best = places.mean(axis=1).sort_values(ascending=False, kind="stable").index[:OPENED]
    traces = [
        go.Scatterpolar(
            r=own[axes].tolist(),
            theta=axes,
            name=str(model),
            customdata=numbers.loc[model, axes].tolist(),
            hovertemplate="%{theta}: %{customdata:.4g}<extra>%{fullData.name}</extra>",
            visible=True if model in best else "legendonly",
            line=line_look(index),
        )
        for index, (model, own) in enumerate(places.iterrows())
    ]
    figure = go.Figure(traces)
    return figure.update_layout(
        height=480, polar={"radialaxis": {"range": [-0.1, 1.05], "showticklabels": False}, "angularaxis": CLOCKWISE}
    )
