"""Fidelity while the subject is visible and after it returned (MemoBench S6 as a figure)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from plotly.subplots import make_subplots

from lookback.figures import PALETTE, style
from lookback.report.figures.drawn import DrawnFigure, line_look

MEASURES = (("psnr", "PSNR (dB)"), ("ssim", "SSIM"), ("lpips", "LPIPS (less is better)"))
PHASES = ("V", "R")


def phase_fidelity(items: pd.DataFrame) -> DrawnFigure | None:
    """A line per model from the visible to the reappear phase, one panel per measure that has values."""
    metrics = [f"memobench.{name}" for name, _ in MEASURES]
    own = items[items["metric"].isin(metrics) & items["phase"].isin(PHASES) & items["value"].notna()]
    if own.empty:
        return None
    measures = [(f"memobench.{name}", title) for name, title in MEASURES if f"memobench.{name}" in set(own["metric"])]
    means = own.pivot_table(index=["metric", "model_id"], columns="phase", values="value").reindex(columns=list(PHASES))
    models = sorted(own["model_id"].unique())
    interactive = make_subplots(1, len(measures), subplot_titles=[title for _, title in measures])
    with style():
        static, axes = plt.subplots(1, len(measures), figsize=(2 + 3 * len(measures), 3.6), layout="constrained", squeeze=False)
        grid = axes[0]
        for panel, (metric, title) in enumerate(measures):
            for index, model in enumerate(models):
                if (metric, model) not in means.index:
                    continue
                values, colour = means.loc[metric, model].tolist(), PALETTE[index % len(PALETTE)]
                grid[panel].plot(PHASES, values, "o-", color=colour, label=model)
                look = {"name": model, "legendgroup": model, "showlegend": panel == 0, "line": line_look(index)}
                interactive.add_scatter(x=PHASES, y=values, mode="lines+markers", row=1, col=panel + 1, **look)
            grid[panel].set(title=title, xlim=(-0.3, 1.3))
            grid[panel].set_xticks([0, 1], ["visible", "after the return"])
        static.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    interactive.update_layout(height=430)
    clips = own.drop_duplicates(["setting", "model_id", "clip_id"])
    caption = "MemoBench: fidelity to the ground truth while the subject is visible (V) and after the return (R), mean over "
    caption += f"{len(clips)} clips of {len(models)} models. A memory that holds keeps its line level; "
    caption += "so does a camera that never leaves."
    return DrawnFigure("phase-fidelity", caption, static, interactive)
