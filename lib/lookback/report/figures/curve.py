"""The curve of a training run, or of several runs in order: one panel per metric."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lookback.figures import save_figure, style
from lookback.scoring.direction import more_is_better

CURVE_BY = ("benchmark", "metric", "variant", "phase")


def draw_curve(curve: pd.DataFrame, root: Path) -> str:
    """One panel per metric and phase: the mean over steps with its interval; checkpoints without a number stand in order.

    Saves the figure below `root` and returns it for a page; empty if nothing has a value.
    """
    import matplotlib.pyplot as plt

    drawn = curve[curve["mean"].notna()]
    groups = list(drawn.groupby(["metric", "phase"], sort=True))
    if not groups:
        return ""
    columns = min(3, len(groups))
    with style():
        rows = -(-len(groups) // columns)
        figure, axes = plt.subplots(rows, columns, figsize=(3.2 * columns, 2.4 * rows), squeeze=False, layout="constrained")
        for panel, ((metric, phase), part) in zip(axes.flat, groups, strict=False):
            steps = part["step"].where(part["step"].notna(), pd.Series(range(len(part)), index=part.index)).astype(float)
            panel.plot(steps, part["mean"], marker="o", markersize=3)
            panel.fill_between(steps, part["ci_low"].astype(float), part["ci_high"].astype(float), alpha=0.2)
            better = {True: " (higher is better)", False: " (lower is better)", None: ""}[more_is_better(str(metric), str(phase))]
            panel.set_title(f"{metric} {phase}".strip(), fontsize=8)
            panel.set_xlabel(f"step{better}", fontsize=7)
        for panel in list(axes.flat)[len(groups) :]:
            panel.set_axis_off()
        caption = "Mean score per checkpoint with its 95 % interval over scenes; no band where too few scenes allow one."
        saved = save_figure(figure, root / "figures", "checkpoint_curve", caption)
        plt.close(figure)
    return saved.to_html()
