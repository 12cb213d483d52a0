"""Event-factor box plots with the paired Wilcoxon stars (WRBench figure 6)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lookback.agreement.reading import span
from lookback.errors import NotScorable, Reason
from lookback.figures import PALETTE, style
from lookback.stats import stars

CELLS = {"none": (0, 0), "spatial": (1, 0), "state": (0, 1), "full": (1, 1)}
CELL_COLOURS = dict(zip(CELLS, (PALETTE[5], PALETTE[1], PALETTE[2], PALETTE[4]), strict=True))


def event_factor_boxes(events: pd.DataFrame, factors: pd.DataFrame) -> tuple[Figure, str]:
    """Per metric: each model's mean in the four event cells (box and points), and the contrasts with intervals and stars.

    `events` is the table of event cells (or scores per clip): model_id, metric, value, spatial, state; `factors` the contrasts.
    """
    metrics = [m for m in dict.fromkeys(factors["metric"]) if factors.loc[factors["metric"] == m, "p"].notna().any()]
    if not metrics:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no metric has enough models in the four event cells for a test")
    with style():
        figure, grid = plt.subplots(2, len(metrics), figsize=(2.5 * len(metrics) + 0.8, 5.2), squeeze=False)
        for column, metric in enumerate(metrics):
            own = events[events["metric"] == metric]
            means = own.groupby(["model_id", "spatial", "state"])["value"].mean().unstack(["spatial", "state"]).dropna()
            _boxes(grid[0, column], means, metric)
            _contrasts(grid[1, column], factors[factors["metric"] == metric])
        grid[0, 0].set_ylabel("score (metric's own unit)")
        grid[1, 0].set_ylabel("change in score")
        figure.set_layout_engine("constrained")  # last: every swarm draws the whole figure once
    counts = span(factors["n"].min(), factors["n"].max())
    caption = (
        f"Scores under the 2x2 event design over {counts} models. Top: one point per model and event level. Bottom: typical change "
        "(Hodges-Lehmann shift with its interval) when an object moves, when its state changes in place, and their interaction; "
        "stars are paired Wilcoxon tests after Holm (* p < 0.05, ** p < 0.01, *** p < 0.001, n.s. not significant)."
    )
    return figure, caption


def _boxes(axes: Axes, means: pd.DataFrame, metric: str) -> None:
    import seaborn

    levels = pd.DataFrame({name: means[cell] for name, cell in CELLS.items()})
    seaborn.boxplot(levels, ax=axes, palette=CELL_COLOURS, width=0.55, showfliers=False, boxprops={"alpha": 0.6}, linecolor="black")
    seaborn.swarmplot(levels, ax=axes, color="black", size=3, alpha=0.7, warn_thresh=1)
    axes.set(xlabel="event level", ylabel="")
    axes.set_title(f"{metric.split('.')[-1].replace('_', ' ')}\n(n {len(means)} models)", fontsize=9)


def _contrasts(axes: Axes, rows: pd.DataFrame) -> None:
    axes.axhline(0, color="#999999", linewidth=0.8, linestyle="--")
    spread = np.nanmax([np.abs(rows[c].to_numpy(dtype=float)).max() for c in ("shift", "low", "high")])
    for position, row in enumerate(rows.itertuples()):
        colour = PALETTE[position]
        axes.bar(position, row.shift, width=0.55, color=colour, alpha=0.7)
        if np.isfinite(row.low) and np.isfinite(row.high):
            axes.vlines(position, row.low, row.high, color="black", linewidth=1.2)
        top = np.nanmax([row.shift, row.high, 0.0])
        label = stars(row.p_holm) if np.isfinite(row.p_holm) else "none"
        axes.text(position, top + 0.06 * spread, label, ha="center", va="bottom", fontsize=8)
    axes.set_ylim(-1.25 * spread, 1.45 * spread)
    axes.set_xticks(range(len(rows)), list(rows["contrast"]))
    axes.set_xlabel("contrast")
