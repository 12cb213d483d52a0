"""Who gives access to a return: support by camera path (WRBench)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from plotly import graph_objects as go

from lookback.figures import PALETTE, style
from lookback.report.figures.drawn import DrawnFigure

SUPPORT = "wrbench.support"


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
