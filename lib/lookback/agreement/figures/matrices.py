"""Heat maps: agreement by scene and dimension (MemoBench figure 4), correlations between metrics (WRBench figure 4)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from lookback.agreement.reading import span
from lookback.figures import style


def agreement_heatmap(table: pd.DataFrame) -> tuple[Figure, str]:
    """Share of questions on which people's majority equals the answer; the last row and column are totals."""
    values = table.set_index("scene").drop(columns="n")
    with style():
        figure, axes = plt.subplots(figsize=(1.6 + 0.95 * values.shape[1], 1.5 + 0.3 * len(values)), layout="constrained")
        image = axes.imshow(values.to_numpy(dtype=float), cmap="cividis", vmin=0, vmax=1, aspect="auto")
        _cells(axes, values.to_numpy(dtype=float), lambda v: f"{v:.0%}", dark=lambda v: v < 0.55)
        axes.set_xticks(range(values.shape[1]), [c.replace("_", "\n") for c in values.columns])
        axes.set_yticks(range(len(values)), [f"{s} (n {int(n)})" for s, n in zip(values.index, table["n"], strict=True)])
        axes.axhline(len(values) - 1.5, color="white", linewidth=2)
        axes.axvline(values.shape[1] - 1.5, color="white", linewidth=2)
        axes.set_xlabel("dimension")
        axes.set_ylabel("scene")
        figure.colorbar(image, ax=axes, label="agreement (share of questions)", shrink=0.8)
    total = int(table.loc[table["scene"] == "all", "n"].iloc[0])
    overall = f"{values.loc['all', 'all']:.1%}" if "all" in values and total else "none"
    smallest = int(table["n"].min())
    caption = f"Agreement of the answers with people's majority, overall {overall} of {total} questions. "
    return figure, caption + f"A row rests on {smallest} or more questions, so single dark cells are a question or two."


def correlation_matrix(correlations: pd.DataFrame, *, alpha: float = 0.05) -> tuple[Figure, str]:
    """One panel per benchmark and setting: lower triangle of r with its interval; bold where Holm leaves p < alpha."""
    panels = [(key, own) for key, own in correlations.groupby(["benchmark", "setting"], sort=False)]
    sizes = [len({*own["metric_a"], *own["metric_b"]}) for _, own in panels]
    heights = [1.6 + 0.62 * size for size in sizes]
    with style():
        figure, grid = plt.subplots(
            len(panels),
            1,
            figsize=(2.6 + 0.9 * max(sizes), sum(heights)),
            height_ratios=heights,
            layout="constrained",
            squeeze=False,
        )
        for axes, (key, own) in zip(grid[:, 0], panels, strict=True):
            _triangle(axes, own, alpha)
            axes.set_title(" ".join(part for part in key if part), loc="left", fontsize=9)
        colours = ScalarMappable(Normalize(-1, 1), "RdBu_r")
        figure.colorbar(colours, ax=list(grid[:, 0]), label="Pearson correlation over models (unitless)", shrink=0.8)
    models = span(correlations["n"].min(), correlations["n"].max())
    caption = (
        f"Model-level correlations between metrics over {models} models, with intervals. Bold: different from zero after Holm's "
    )
    return figure, caption + "correction; blocks of one colour move together."


def _triangle(axes: Axes, own: pd.DataFrame, alpha: float) -> None:
    names = list(dict.fromkeys([*own["metric_a"], *own["metric_b"]]))
    size = len(names)
    values = np.full((size, size), np.nan)
    for row in own.itertuples():
        i, j = sorted((names.index(row.metric_a), names.index(row.metric_b)), reverse=True)
        values[i, j] = row.r
        if np.isfinite(row.r):
            colour = "white" if abs(row.r) > 0.6 else "black"
            weight = "bold" if row.p_holm < alpha else "normal"
            text = f"{row.r:.2f}\n{row.low:.2f} to {row.high:.2f}"
            axes.text(j, i - 1, text, ha="center", va="center", fontsize=6.5, color=colour, fontweight=weight)
        else:
            axes.text(j, i - 1, "no value", ha="center", va="center", fontsize=6.5, color="#666666")
    axes.imshow(values[1:, :-1], cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    short = [name.split(".")[-1].replace("_", " ") for name in names]
    axes.set_xticks(range(size - 1), short[:-1], rotation=30, ha="right")
    axes.set_yticks(range(size - 1), short[1:])
    axes.set_xlabel("metric")
    axes.set_ylabel("metric")


def _cells(axes: Axes, values: np.ndarray, text: object, dark: object) -> None:
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            axes.text(j, i, text(value), ha="center", va="center", fontsize=7, color="white" if dark(value) else "black")  # type: ignore[operator]
        else:
            axes.text(j, i, "-", ha="center", va="center", fontsize=7, color="#666666")
