"""The curve of a training run, or of several runs in order: one panel per metric."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from lookback.figures import save_figure, style
from lookback.scoring.direction import more_is_better

CURVE_BY = ("benchmark", "metric", "variant", "phase")
NAME = 28  # characters of a name on the axis


def draw_curve(curve: pd.DataFrame, root: Path) -> str:
    """One panel per metric and phase: the mean over steps with its interval.

    Where a checkpoint has no number, or two share one, all stand under their names: by their numbers, then those without one. So
    do the runs of a curve with a column `run`, which are compared on the same clips.
    Saves the figure below `root` and returns it for a page; empty if nothing has a value.
    """
    import matplotlib.pyplot as plt

    drawn = curve[curve["mean"].notna()]
    groups = list(drawn.groupby(["metric", "phase"], sort=True))
    if not groups:
        return ""
    columns = min(3, len(groups))
    by = "run" if "run" in drawn else "checkpoint"
    steps = drawn.drop_duplicates(by)["step"]
    named = by == "run" or bool(steps.isna().any() or steps.duplicated().any())
    names = list(drawn.sort_values("step", kind="stable")[by].unique()) if named else []
    with style():
        rows = -(-len(groups) // columns)
        figure, axes = plt.subplots(rows, columns, figsize=(3.2 * columns, 2.4 * rows), squeeze=False, layout="constrained")
        for panel, ((metric, phase), part) in zip(axes.flat, groups, strict=False):
            places = (part[by].map(names.index) if named else part["step"]).astype(float)
            panel.plot(places, part["mean"], marker="o", markersize=3)
            panel.fill_between(places, part["ci_low"].astype(float), part["ci_high"].astype(float), alpha=0.2)
            better = {True: "higher is better", False: "lower is better", None: ""}[more_is_better(str(metric), str(phase))]
            count = f", n = {part['n'].iloc[0]}" if by == "run" else ""
            panel.set_title(f"{metric} {phase}".strip() + count, fontsize=8)
            _label(panel, names, better)
        for panel in list(axes.flat)[len(groups) :]:
            panel.set_axis_off()
        saved = save_figure(figure, root / "figures", "checkpoint_curve", _caption(drawn, len(names) if by == "run" else 0))
        plt.close(figure)
    return saved.to_html()


def _label(panel: Axes, names: Sequence[str], better: str) -> None:
    """The names of the runs or checkpoints, or that these are steps; and which way is better."""
    if not names:
        panel.set_xlabel(f"step ({better})" if better else "step", fontsize=7)
        return
    shown = [name if len(name) <= NAME else f"...{name[3 - NAME :]}" for name in names]  # checkpoints differ at the end
    panel.set_xticks(range(len(names)), shown, rotation=30, ha="right", fontsize=6)
    panel.set_xlabel(better, fontsize=7)


def _caption(drawn: pd.DataFrame, runs: int) -> str:
    fewest, most = drawn["n"].min(), drawn["n"].max()
    told = f"n = {fewest}" if fewest == most else f"n = {fewest} to {most}"
    what = f"run, over the clips that all {runs} runs scored ({told}, all models together)," if runs else "checkpoint"
    return f"Mean score per {what} with its 95 % interval over scenes; no band where too few scenes allow one."
