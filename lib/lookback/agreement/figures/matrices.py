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
from lookback.figures import heatmap, style


def agreement_heatmap(table: pd.DataFrame) -> tuple[Figure, str]:
    """Share of questions on which people's majority equals the answer; the last column and each setting's last row are totals."""
    named = [name for name in ("family", "setting", "scene") if name in table]
    rows = [" ".join(filter(None, map(str, row))) for row in table[named].itertuples(index=False)]
    values = table.drop(columns=[*named, "n"])
    with style():
        figure, axes = plt.subplots(figsize=(1.6 + 0.95 * values.shape[1], 1.5 + 0.3 * len(values)), layout="constrained")
        shown = values.rename(columns=lambda name: name.replace("_", "\n"))
        shown.index = pd.Index([f"{row} (n {int(n)})" for row, n in zip(rows, table["n"], strict=True)])
        words = values.map(lambda value: "-" if pd.isna(value) else f"{value:.0%}").to_numpy()
        heatmap(axes, shown, words, colours="cividis", low=0, high=1, label="agreement (share of questions)")
        for place in np.flatnonzero(table["scene"] == "all").tolist():
            axes.axhline(place, color="white", linewidth=2)
        axes.axvline(values.shape[1] - 1, color="white", linewidth=2)
        axes.set(xlabel="dimension", ylabel="scene")
    totals = [
        f"{row.removesuffix('all')}{f'{share:.1%}' if n else 'none'} of {int(n)}"
        for row, scene, share, n in zip(rows, table["scene"], values.get("all", table["n"]), table["n"], strict=True)
        if scene == "all"
    ]
    smallest = int(table["n"].min())
    caption = f"Agreement of the answers with people's majority, overall {', '.join(totals)} questions. "
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
    short = [name.split(".")[-1].replace("_", " ") for name in names]
    values = pd.DataFrame(np.nan, index=short[1:], columns=short[:-1])
    words, certain = np.full(values.shape, "", object), np.zeros(values.shape, bool)
    for row in own.itertuples():
        i, j = sorted((names.index(row.metric_a), names.index(row.metric_b)), reverse=True)
        values.iat[i - 1, j], certain[i - 1, j] = row.r, row.p_holm < alpha
        words[i - 1, j] = f"{row.r:.2f}\n{row.low:.2f} to {row.high:.2f}" if np.isfinite(row.r) else "no value"
    heatmap(axes, values, words, colours="RdBu_r", low=-1, high=1)
    for text in axes.texts:
        column, line = text.get_position()
        text.set_fontweight("bold" if certain[int(line), int(column)] else "normal")
    axes.set(xlabel="metric", ylabel="metric")
