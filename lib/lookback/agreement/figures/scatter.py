"""Human against metric win ratios, one point per model, labelled."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lookback.agreement.figures.comparison import left_out_words, ranked_panels
from lookback.figures import PALETTE, style

COLUMNS = 3
# size of a 7-point letter and line in a panel, in win-ratio units
LETTER, LINE = 0.024, 0.05


def win_ratio_scatter(win_ratios: pd.DataFrame, ranking: pd.DataFrame) -> tuple[Figure, str]:
    """One panel per family, setting and dimension of the win-ratio table; models named beside their points.

    Two models have no rank correlation: their panels are left out, and the caption counts them.
    """
    keys = ["family", "setting", "dimension"]
    every = list(win_ratios.groupby(keys, sort=False))
    panels = ranked_panels(every)
    columns = min(COLUMNS if len(panels) <= COLUMNS**2 else COLUMNS + 1, len(panels))
    lines = int(np.ceil(len(panels) / columns))
    known = ranking.set_index(keys)
    with style():
        figure, grid = plt.subplots(lines, columns, figsize=(3.1 * columns, 3.2 * lines), layout="constrained", squeeze=False)
        for axes, (key, own) in zip(grid.flat, panels, strict=False):
            _panel(axes, own)
            row = known.loc[key]
            rho = f"rho {row['rho']:.2f}" if np.isfinite(row["rho"]) else "no rho"
            setting = f" [{key[1]}]" if key[1] else ""
            axes.set_title(f"{key[2]}{setting}\n{rho}, {len(own)} models, {int(row['n_pairs'])} pairs", fontsize=9)
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_visible(False)
        figure.supxlabel("win ratio of the metric (share of comparisons won)", fontsize=9)
        figure.supylabel("win ratio of people's labels (share of comparisons won)", fontsize=9)
    caption = (
        "Win ratios of people and metric over the same pairs, one point per model with intervals. Points on the dashed line are "
        "preferred as often by people as by the metric; what counts for rho is only their order."
    )
    return figure, caption + left_out_words(len(every) - len(panels))


def _panel(axes: Axes, own: pd.DataFrame) -> None:
    x, y = own["win_ratio_metric"].to_numpy(dtype=float), own["win_ratio_human"].to_numpy(dtype=float)
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=0.8, linestyle="--", zorder=0)
    axes.hlines(y, own["low_metric"], own["high_metric"], color=PALETTE[5], linewidth=0.8)
    axes.vlines(x, own["low_human"], own["high_human"], color=PALETTE[5], linewidth=0.8)
    axes.plot(x, y, "o", color=PALETTE[0], markersize=4.5)
    for name, at, side in zip(own["model"], zip(x, y, strict=True), label_sides(own["model"], x, y), strict=True):
        offset = (5 * side[0], 4 if side[1] > 0 else -9)
        axes.annotate(str(name), at, xytext=offset, textcoords="offset points", ha="left" if side[0] > 0 else "right", fontsize=7)
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-0.03, 1.03)
    axes.set_aspect("equal")


def label_sides(names: pd.Series, x: np.ndarray, y: np.ndarray) -> list[tuple[int, int]]:
    """For each label the corner (right/left, above/below) that overlaps least with points and with labels already placed."""
    placed: list[tuple[float, float, float, float]] = []
    chosen = []
    for name, here, there in zip(names, x, y, strict=True):
        options = []
        for side in ((1, -1), (-1, 1), (1, 1), (-1, -1)):
            width = LETTER * len(str(name))
            left = here + 0.02 if side[0] > 0 else here - 0.02 - width
            bottom = there + 0.01 if side[1] > 0 else there - 0.01 - LINE
            box = (left, bottom, left + width, bottom + LINE)
            outside = max(0.0, -0.03 - box[0]) + max(0.0, box[2] - 1.03) + max(0.0, -0.03 - box[1])
            cost = 10 * outside + sum(_overlap(box, other) for other in placed)
            cost += sum((box[0] < px < box[2]) and (box[1] < py < box[3]) for px, py in zip(x, y, strict=True)) * LINE**2
            options.append((cost, side, box))
        _, side, box = min(options, key=lambda option: option[0])
        placed.append(box)
        chosen.append(side)
    return chosen


def _overlap(first: tuple[float, float, float, float], second: tuple[float, float, float, float]) -> float:
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    return max(0.0, width) * max(0.0, height)
