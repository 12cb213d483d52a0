"""Figures of the judging stage."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from lookback.figures import PALETTE, style
from lookback.judging.quality.funnel import STEPS

LABELS = {"all": "all clips", "departed": "camera departed", "hidden": "subject hidden"}


def funnel_figure(funnel: pd.DataFrame, judge: str) -> tuple[Figure, str]:
    """How many clips reach each step of the re-observation gate, per model; the figure and its caption."""
    import seaborn

    with style():
        figure, axes = plt.subplots(figsize=(7, 0.6 + 0.6 * max(len(funnel), 3)))
        who = str(funnel.columns[0])
        counts = funnel.rename(columns=LABELS).melt(
            id_vars=who, value_vars=[LABELS.get(step, step) for step in STEPS], var_name="step"
        )
        seaborn.barplot(
            counts,
            x="value",
            y=who,
            hue="step",
            palette=list(PALETTE[: len(STEPS)]),
            orient="h",
            errorbar=None,
            saturation=1,
            ax=axes,
        )
        for bars in axes.containers:
            if isinstance(bars, BarContainer):
                axes.bar_label(bars, fontsize=6, padding=1)
        axes.set(xlabel="clips", ylabel=who.replace("_id", ""))
        axes.legend(fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(STEPS), frameon=False)
    lost = f"{int(funnel['all'].sum())} clips, {int(funnel['judgeable'].sum())} judgeable, {int(funnel['unknown'].sum())} undecided"
    caption = f"Gate funnel by the {judge} judge ({lost}). Each bar counts the clips that passed every step before it."
    return figure, caption


def calibration_figure(tables: dict[str, pd.DataFrame], against: str) -> tuple[Figure, str]:
    """Stated probability against how often it was right; `tables` are `calibration_table`s by judge."""
    with style():
        figure, axes = plt.subplots(figsize=(4, 4))
        axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, label="perfect")
        for colour, (judge, table) in zip(PALETTE, tables.items(), strict=False):
            total = int(table["n"].sum())
            axes.plot(table["mean_p_yes"], table["share_yes"], color=colour, linewidth=1, label=f"{judge} (n = {total})")
            axes.scatter(table["mean_p_yes"], table["share_yes"], s=12 + 120 * table["n"] / total, color=colour)
        axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel="probability of yes as stated", ylabel=f"share of yes in {against}")
        axes.legend(fontsize=7, frameon=False, loc="upper left")
    caption = f"Calibration against {against}: points on the diagonal are as right as they say; larger points hold more answers."
    return figure, caption
