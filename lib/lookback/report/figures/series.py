"""Series diagnostics (WRBench figure 7): along a series of models, does access improve, and does what returns?"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from plotly.subplots import make_subplots

from lookback.figures import PALETTE, style
from lookback.report.figures.drawn import DrawnFigure

LINES = (
    ("wrbench.support", "support", "o"),
    ("wrbench.reobserved_spatial", "re-observed spatial", "s"),
    ("wrbench.reobserved_state", "re-observed state", "^"),
)
SIDES = ("top center", "middle right", "middle left")  # of a point where its n stands, so that lines that meet stay readable


def series_diagnostics(items: pd.DataFrame, series: dict[str, list[str]]) -> DrawnFigure | None:
    """One panel per named series, its models in the order given; the re-observed lines are over judgeable returns only."""
    own = items[items["metric"].isin([metric for metric, _, _ in LINES])]
    if not series or own.empty:
        return None
    found = own.groupby(["metric", "model_id"])["value"].agg(["mean", "count"])
    interactive = make_subplots(1, len(series), subplot_titles=list(series))
    with style():
        static, grid = plt.subplots(1, len(series), figsize=(4.2 * len(series) + 1, 3.8), layout="constrained", squeeze=False)
        for panel, (title, models) in enumerate(series.items()):
            axes = grid[0, panel]
            for index, (metric, label, marker) in enumerate(LINES):
                rows = found.reindex([(metric, model) for model in models])
                values, n = rows["mean"].to_numpy(), rows["count"].fillna(0).astype(int).to_numpy()
                colour = PALETTE[index]
                axes.plot(range(len(models)), values, f"{marker}-", color=colour, label=label)
                for x, (value, size) in enumerate(zip(values, n, strict=True)):
                    if np.isfinite(value):
                        axes.annotate(f"n {size}", (x, value), (7, -3), textcoords="offset points", fontsize=6.5, color=colour)
                interactive.add_scatter(
                    x=models, y=values.tolist(), name=label, legendgroup=label, showlegend=panel == 0, customdata=n.tolist(),
                    hovertemplate="%{y:.3f} (n %{customdata})", line={"color": colour}, row=1, col=panel + 1,
                    mode="lines+markers+text", texttemplate="n %{customdata}", textposition=SIDES[index], cliponaxis=False,
                    textfont={"size": 9, "color": colour},
                )  # fmt: skip
            axes.set(title=title, xlim=(-0.15, len(models) - 0.7), ylim=(-0.05, 1.1), ylabel="mean" if panel == 0 else "")
            axes.set_xticks(range(len(models)), models, rotation=20, ha="right", fontsize=7.5)
        static.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    interactive.update_layout(height=460)
    for panel, models in enumerate(series.values(), start=1):
        interactive.update_xaxes(range=[-0.4, len(models) - 0.6], row=1, col=panel)
    interactive.update_yaxes(range=[-0.05, 1.1])
    caption = "WRBench: series diagnostics. Support says how often a return can be judged at all; the re-observed lines are means "
    caption += "over those returns alone (n beside each point)."
    return DrawnFigure("series", caption, static, interactive)
