"""WRBench's figures of a run: access to a return by camera path, and diagnostics along a series of models (figure 7)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from plotly import graph_objects as go
from plotly.subplots import make_subplots

from lookback.figures import PALETTE, style
from lookback.report.figures.drawn import DrawnFigure

SUPPORT = "wrbench.support"
LINES = (
    ("wrbench.support", "support", "o"),
    ("wrbench.reobserved_spatial", "re-observed spatial", "s"),
    ("wrbench.reobserved_state", "re-observed state", "^"),
)
SIDES = ("top center", "middle right", "middle left")  # of a point where its n stands, so that lines that meet stay readable


def camera_access(items: pd.DataFrame) -> DrawnFigure | None:
    """Share of outputs with a judgeable return, by model and requested camera path."""
    own = items[(items["metric"] == SUPPORT) & items["value"].notna() & (items["camera"] != "")]
    if own.empty:
        return None
    counts = own.groupby(["model_id", "camera"])["value"].agg(["mean", "sum", "size"])
    order = own.groupby("model_id")["value"].mean().sort_values(kind="stable").index
    cameras = sorted(own["camera"].unique())
    interactive = go.Figure()
    with style():
        static, axes = plt.subplots(figsize=(8, 0.2 * len(order) * len(cameras) + 1.4))
        for index, camera in enumerate(cameras):
            rows = counts.xs(camera, level="camera").reindex(order)
            share = 100 * rows["mean"]
            words = [f"{good:.0f} of {n:.0f}" if n > 0 else "not asked" for good, n in zip(rows["sum"], rows["size"], strict=True)]
            height = np.arange(len(order)) + (index - (len(cameras) - 1) / 2) * 0.8 / len(cameras)
            axes.barh(height, share, height=0.75 / len(cameras), color=PALETTE[index % len(PALETTE)], label=camera)
            for y, value, text in zip(height, share, words, strict=True):
                if np.isfinite(value):
                    axes.text(value + 1, y, text, va="center", fontsize=6)
            interactive.add_bar(
                y=list(order), x=share.tolist(), name=camera, orientation="h", customdata=words, hovertemplate="%{y}: %{customdata}"
            )
        axes.set_yticks(range(len(order)), order)
        axes.set(xlabel="support (% of outputs whose return can be judged)", xlim=(0, 115))
        axes.legend(frameon=False, ncols=len(cameras), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    interactive.update_layout(
        height=max(320, 90 + 18 * len(order) * len(cameras)), barmode="group", xaxis={"title": "support (%)", "range": [0, 105]}
    )
    interactive.update_layout(yaxis={"automargin": True})
    caption = "WRBench: access to a return by requested camera path. Judgeable returns of the outputs asked for, "
    caption += f"{len(own)} outputs of {len(order)} models."
    return DrawnFigure("camera-access", caption, static, interactive)


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
