"""Models ranked with ties, judges beside people, and a known truth against its estimates."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lookback.errors import NotScorable, Reason
from lookback.figures import PALETTE, style
from lookback.names import counted

COLUMNS = 4
FEWEST_MODELS = 3  # of a panel
PEOPLE, MACHINE, GREY = PALETTE[1], PALETTE[0], "#999999"


def panel_name(dimension: object, setting: object) -> str:
    return f"{dimension} [{setting}]" if setting else str(dimension)


Panel = tuple[Any, pd.DataFrame]


def ranked_panels(panels: list[Panel]) -> list[Panel]:
    """The panels of at least three models; NotScorable when there is none."""
    kept = [(key, own) for key, own in panels if len(own) >= FEWEST_MODELS]
    if not kept:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"no dimension has {FEWEST_MODELS} models")
    return kept


def left_out_words(number: int) -> str:
    """What a caption says about panels that are left out; empty when there are none."""
    return f" Not drawn, with fewer than {FEWEST_MODELS} models: {counted(number, 'dimension')}." if number else ""


SCALES = {  # what the axis says, and where a model stands that is as good as the others
    "log strength": ("log strength (0: average model)", 0.0),
    "win ratio": ("win ratio of labels (ties half)", 0.5),
    "mean rating": ("mean rating", None),
}


def model_ranking(models: pd.DataFrame) -> tuple[Figure, str]:
    """One panel per family, setting and dimension: the scale that makes the verdicts, best on top, letters at the right.

    Two models are no ranking: their panels are left out, and the caption counts them.
    """
    every = list(models.groupby(["family", "setting", "dimension"], sort=False))
    panels = ranked_panels(every)
    columns = min(COLUMNS, len(panels))
    lines = int(np.ceil(len(panels) / columns))
    tallest = max(len(own) for _, own in panels)
    with style():
        size = (3.1 * columns + 0.6, (1.1 + 0.24 * tallest) * lines + 0.3)
        figure, grid = plt.subplots(lines, columns, figsize=size, layout="constrained", squeeze=False)
        for axes, ((_, setting, dimension), own) in zip(grid.flat, panels, strict=False):
            _ranked(axes, own)
            n, rated = int(own["n"].sum()), own["scale"].iloc[0] == "mean rating"
            axes.set_title(f"{panel_name(dimension, setting)}\n(n {f'{n} clips' if rated else f'{n // 2} pairs'})", fontsize=9)
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_visible(False)
    caption = (
        "Models ranked by people, one panel per dimension: points are estimates, bars their intervals. Models that share a letter "
        "are not told apart after correction for all pairs of models; bars of models that are told apart may still overlap."
    )
    return figure, caption + left_out_words(len(every) - len(panels))


def _ranked(axes: Axes, own: pd.DataFrame) -> None:
    rows = np.arange(len(own))[::-1]
    label, middle = SCALES[own["scale"].iloc[0]]
    if middle is not None:
        axes.axvline(middle, color=GREY, linewidth=0.8, linestyle="--", zorder=0)
    axes.hlines(rows, own["low"], own["high"], color=PALETTE[0], linewidth=1.6)
    axes.plot(own["value"], rows, "o", color=PALETTE[0], markersize=4.5)
    for row, word in zip(rows, own["letters"], strict=True):
        axes.text(1.02, row, word, va="center", fontsize=8, fontweight="bold", transform=axes.get_yaxis_transform())
    axes.set_yticks(rows, list(own["model"]), fontsize=7)
    axes.set_xlabel(label, fontsize=8)
    axes.set_ylim(-0.7, len(own) - 0.3)


def judge_and_people(ceiling: pd.DataFrame) -> tuple[Figure, str]:
    """Per row of the ceiling table: how often people, and the automatic answer, equal the majority of the other votes."""
    known = ceiling.reset_index(drop=True)
    with style():
        figure, axes = plt.subplots(figsize=(7.6, 1.3 + 0.36 * len(known)), layout="constrained")
        rows = np.arange(len(known))[::-1]
        for name, colour, shift, marker in (("people", PEOPLE, 0.13, "s"), ("judge", MACHINE, -0.13, "o")):
            axes.hlines(rows + shift, known[f"{name}_low"], known[f"{name}_high"], color=colour, linewidth=1.6)
            label = "one person" if name == "people" else "judge or metric"
            axes.plot(known[name], rows + shift, marker, color=colour, markersize=4.5, label=label)
        for row in rows[known["people"].isna().to_numpy()]:
            axes.text(0, row, " no value", va="center", color="#666666", fontsize=8)
        names = [f"{panel_name(r.dimension, r.setting)}  (n {int(r.n_items)})" for r in known.itertuples()]
        axes.set_yticks(rows, names)
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.7, len(known) - 0.3)
        axes.set_xlabel("share that equals the majority of the other votes on the same item, with interval")
        figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize=8)
    below = known.loc[known["verdict"] == "below people"]
    words = ", ".join(panel_name(r.dimension, r.setting) for r in below.itertuples()) or "nothing"
    caption = (
        "Each vote, and the automatic answer in its place, against the majority of the other votes on that item. A judge as good "
        f"as one more person lies level with the square. Below people beyond noise: {words}."
    )
    return figure, caption


def recovered_truth(recovered: pd.DataFrame) -> tuple[Figure, str]:
    """Estimates with intervals against the truth, one panel per quantity; points off the line with their whole bar are misses."""
    panels = list(recovered.groupby("quantity", sort=False))
    columns = min(3, len(panels))
    lines = int(np.ceil(len(panels) / columns))
    with style():
        figure, grid = plt.subplots(lines, columns, figsize=(3.1 * columns, 3.0 * lines), layout="constrained", squeeze=False)
        for axes, (quantity, own) in zip(grid.flat, panels, strict=False):
            _against_truth(axes, own)
            axes.set_title(f"{quantity} (n {len(own)})", fontsize=9)
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_visible(False)
        figure.supxlabel("truth (each panel in the unit of its quantity)", fontsize=9)
        figure.supylabel("estimate with interval", fontsize=9)
    known = recovered[recovered["low"].notna()]
    hits = int(known["inside"].sum())
    caption = (
        f"What the analysis finds against what is true. {hits} of {len(known)} bars cross the dashed line, where both are equal; "
    )
    return figure, caption + "bars that miss it are orange."


def _against_truth(axes: Axes, own: pd.DataFrame) -> None:
    values = own[["truth", "estimate", "low", "high"]].to_numpy(dtype=float)
    low, high = np.nanmin(values), np.nanmax(values)
    margin = 0.05 * (high - low)
    axes.plot([low - margin, high + margin], [low - margin, high + margin], color=GREY, linewidth=0.8, linestyle="--", zorder=0)
    # equal truths stand side by side
    beside = own.groupby(own["truth"].round(6)).cumcount() - (own.groupby(own["truth"].round(6))["truth"].transform("size") - 1) / 2
    own = own.assign(truth=own["truth"] + 0.012 * (high - low) * beside)
    missed = own["inside"].eq(False).to_numpy()
    for chosen, colour in ((~missed, PALETTE[0]), (missed, PALETTE[3])):
        part = own[chosen]
        axes.vlines(part["truth"], part["low"], part["high"], color=colour, linewidth=1.0, alpha=0.8)
        axes.plot(part["truth"], part["estimate"], "o", color=colour, markersize=3.5)
