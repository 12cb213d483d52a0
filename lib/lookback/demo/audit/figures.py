"""Figures of the audit."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lookback.demo.audit.sensitivity import FEWEST_CLIPS
from lookback.figures import PALETTE, heatmap, short_names, style
from lookback.names import counted

LEAST_HEIGHT = 3.6  # inches
PANELS = 4  # dose-response panels in a row


def sensitivity_figure(table: pd.DataFrame) -> tuple[Figure, str]:
    """Heat map measure x failure of the rank correlation of severity and drop; a frame marks the metrics meant for a failure."""
    told = table[table["rank_correlation"].notna()]
    if told.empty:
        return _nothing()
    grid, meant = (told.pivot(index="measure", columns="failure", values=name) for name in ("rank_correlation", "meant"))
    with style():
        figure, axes = plt.subplots(figsize=(0.55 * grid.shape[1] + 4.5, _height(grid)), layout="constrained")
        shown = grid.rename(columns=lambda name: name.replace("_", " "))
        heatmap(axes, shown, _numbers(grid, 1), colours="RdBu", low=-1, high=1, label="rank correlation of severity and drop")
        for row, column in np.argwhere((meant == True).to_numpy()):  # noqa: E712 -- a missing cell is neither
            axes.add_patch(plt.Rectangle((column + 0.02, row + 0.04), 0.96, 0.92, fill=False, edgecolor="black", linewidth=1.6))
        axes.tick_params(axis="y", labelsize=7.5)
        axes.set_xlabel("injected failure")
    left = sorted(set(table["failure"]) - set(told["failure"]))
    caption = (
        f"{counted(grid.shape[0], 'measure')} and {counted(grid.shape[1], 'injected failure')}. "
        "Blue: the metric falls as the failure gets worse; white: it does not notice; red: it rises. "
        "Framed: the metric is meant for this failure. Each cell compares "
        f"{_span(told['n'])} failing clips with the faithful clip of the same scene and camera; empty: fewer than "
        f"{FEWEST_CLIPS} such clips."
    )
    return figure, caption + (f" Not measured: {', '.join(left).replace('_', ' ')}." if left else "")


def _nothing() -> tuple[Figure, str]:
    """An empty figure with a sentence, when no failure can be tested."""
    words = f"No failure has {FEWEST_CLIPS} failing clips with a score: nothing can be said about a metric's sensitivity."
    with style():
        figure, axes = plt.subplots(figsize=(7, 1.2))
        axes.text(0.5, 0.5, words, ha="center", va="center", fontsize=8, wrap=True)
        axes.axis("off")
    return figure, words


def _height(grid: pd.DataFrame) -> float:
    """Of a heat map in inches: the names below it need room, however few rows it has."""
    return float(max(LEAST_HEIGHT, 0.27 * grid.shape[0] + 1.8))


def _numbers(grid: pd.DataFrame, digits: int) -> np.ndarray:
    """The words inside the cells; a missing cell is empty."""
    return grid.map(lambda value: "" if pd.isna(value) else f"{value:.{digits}f}").to_numpy()


def _span(counts: pd.Series) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low}" if low == high else f"{low} to {high}"


def dose_figure(drops: pd.DataFrame, table: pd.DataFrame) -> tuple[Figure, str]:
    """Per failure, the drop against severity of the metrics meant for it, each in units of its largest drop anywhere."""
    drops, table = drops[drops["drop"].notna()], table[table["rank_correlation"].notna() & table["meant"]]
    if table.empty:
        return _nothing()
    failures = sorted(table["failure"].unique())
    scale = drops.groupby("measure")["drop"].apply(lambda values: max(values.abs().max(), 1e-12))
    rows = -(-len(failures) // PANELS)
    lowest = 0.0
    with style():
        size = (11, 2.3 * rows)
        figure, grid = plt.subplots(rows, PANELS, figsize=size, sharex=True, sharey=True, squeeze=False, layout="constrained")
        for axes, failure in zip(grid.flat, failures, strict=False):
            chosen = table[table["failure"] == failure].nlargest(3, "rank_correlation")["measure"]
            names = short_names(chosen)
            for colour, measure in zip(PALETTE, chosen, strict=False):
                own = drops[(drops["failure"] == failure) & (drops["measure"] == measure)]
                means = own.groupby("severity")["drop"].mean() / scale[measure]
                lowest = min(lowest, *means)
                axes.plot([0, *means.index], [0, *means], marker="o", markersize=3, color=colour, label=names[measure])
            axes.axhline(0, color="#999999", linewidth=0.6)
            axes.set_title(failure.replace("_", " "), fontsize=9)
            axes.legend(fontsize=6, frameon=False, loc="upper left")
        grid.flat[0].set_ylim(min(-0.3, lowest - 0.1), 1.5)  # of all panels; above is room for the legend
        for axes in grid.flat[len(failures) :]:
            axes.set_visible(False)
        figure.supxlabel("injected severity")
        figure.supylabel("drop (share of the metric's largest)")
    return figure, (
        "How far the metrics meant for a failure fall as it gets worse, mean over the failing clips of a severity "
        f"({_span(table['n'])} clips a line). A flat line is a failure missed."
    )


def invariance_figure(table: pd.DataFrame) -> tuple[Figure, str]:
    """Heat map measure x corruption at its full strength: the drop in per cent of the sound value."""
    strongest = table[table["strength"] == table.groupby("control")["strength"].transform("max")]
    grid = 100 * strongest.pivot(index="measure", columns="control", values="relative_drop")
    kinds = strongest.drop_duplicates("control").set_index("control")["kind"]
    grid = grid[sorted(grid.columns, key=lambda name: (kinds[name], name))]
    with style():
        figure, axes = plt.subplots(figsize=(0.75 * grid.shape[1] + 4.5, _height(grid)), layout="constrained")
        shown = grid.rename(columns=lambda name: f"{name.replace('_', ' ')}\n({kinds[name]})")
        label = "drop in % of the sound clip's value"
        heatmap(axes, shown, _numbers(grid, 0), colours="RdBu", low=-100, high=100, label=label)
        axes.tick_params(labelsize=7.5)
        axes.set(xlabel="", ylabel="measure")
    clips = "clip" if strongest["n"].max() == 1 else "clips"
    return figure, (
        f"{counted(grid.shape[0], 'measure')} on {_span(strongest['n'])} sound {clips} each, corrupted. "
        "Controls break memory and should make a metric of memory fall (blue); nuisances, at full "
        "strength, do not touch memory and should leave it alone (white). Red: the metric rises. Empty: the measure gave no score "
        "for the clip or its corrupted copy, or its sound value is 0."
    )
