"""The figures of the published report."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle

from lookback.figures import PALETTE, style
from lookback.published.claims import AGREES, CANNOT, DISAGREES, Verdict
from lookback.published.comparison import CONVERGENT, WITHIN
from lookback.published.printed import printed_papers, ranked_papers
from lookback.published.register import dimensions

COLOURS = {DISAGREES: PALETTE[3], CANNOT: "#999999", AGREES: PALETTE[2]}


def claims_figure(verdicts: list[Verdict]) -> Figure:
    """Claims by paper and outcome."""
    papers = [paper for paper in printed_papers() if any(verdict.claim.paper == paper for verdict in verdicts)]
    with style():
        figure, axes = plt.subplots(figsize=(7, 0.5 * len(papers) + 1))
        left = np.zeros(len(papers))
        for status, colour in COLOURS.items():
            counts = np.array([sum(v.claim.paper == paper and v.status == status for v in verdicts) for paper in papers])
            axes.barh(papers, counts, left=left, color=colour, label=status)
            for index, number in enumerate(counts):
                if number:
                    axes.text(left[index] + number / 2, index, str(number), ha="center", va="center", color="white", fontsize=8)
            left += counts
        axes.invert_yaxis()
        axes.set_xlabel("claims (n)")
        axes.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        return figure


def overall_figure(panels: dict[str, pd.DataFrame]) -> Figure:
    """Overall places with their intervals from resampling the dimensions."""
    with style():
        heights = [len(table) for table in panels.values()]
        figure, grid = plt.subplots(
            len(panels), 1, figsize=(7.5, 0.24 * sum(heights) + 1.1 * len(panels)), height_ratios=heights, layout="constrained"
        )
        for axes, (title, table) in zip(grid, panels.items(), strict=True):
            ordered = table.sort_values("mean_rank", ascending=False)
            axes.hlines(range(len(ordered)), ordered["low"], ordered["high"], color=PALETTE[0], linewidth=2.5, alpha=0.45)
            axes.plot(ordered["rank"], range(len(ordered)), "o", color=PALETTE[0], markersize=5)
            axes.set_yticks(range(len(ordered)), ordered.index)
            axes.set_xlim(len(ordered) + 0.6, 0.4)
            axes.set_title(title, loc="left", fontsize=9.5)
            axes.set_xlabel("overall place (1 is best)")
        return figure


def shared_figure(places: dict[str, pd.Series]) -> Figure:
    """For every shared model and paper: the share of the paper's models that it outranks."""
    models = list(dict.fromkeys(model for series in places.values() for model in series.index))
    with style():
        figure, axes = plt.subplots(figsize=(7, 4))
        for index, model in enumerate(models):
            points = [(x, places[paper][model]) for x, paper in enumerate(ranked_papers()) if model in places[paper].index]
            axes.plot(*zip(*points, strict=True), "o-", color=PALETTE[index], label=model, linewidth=2)
        axes.set_xticks(range(len(ranked_papers())), [f"{paper}\n(n = {places[paper].attrs['n']})" for paper in ranked_papers()])
        axes.set_ylabel("share of the paper's models that it outranks overall")
        axes.set_ylim(-0.05, 1.05)
        axes.set_xlim(-0.3, len(ranked_papers()) - 0.7)
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return figure


def matrix_figure(matrix: pd.DataFrame) -> Figure:
    """rho of all pairs of dimensions. Cells of the same construct are outlined; cells with fewer than three models are empty."""
    listed = dimensions()
    keys = [(row.paper, row.column) for row in listed.itertuples()]
    size = len(keys)
    place = {key: index for index, key in enumerate(keys)}
    values = np.full((size, size), np.nan)
    with style():
        figure, axes = plt.subplots(figsize=(11, 10))
        for row in matrix.itertuples():
            i, j = place[row.paper_a, row.column_a], place[row.paper_b, row.column_b]
            values[i, j] = values[j, i] = row.rho
            if row.kind == CONVERGENT:
                for x, y in ((j, i), (i, j)):
                    axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=1.1))
        labels = [f"{row.header} ({row.construct})" for row in listed.itertuples()]
        axes.set_facecolor("#eeeeee")
        image = heat_map(axes, pd.DataFrame(values), labels, labels)
        start = 0
        for paper in ranked_papers():
            count = int((listed["paper"] == paper).sum())
            for line in (axes.axhline, axes.axvline):
                line(start - 0.5, color="black", linewidth=1.4)
            axes.text(start + count / 2 - 0.5, -1.1, paper, ha="center", fontsize=10, fontweight="bold")
            start += count
        figure.colorbar(image, ax=axes, shrink=0.6, label="Spearman's rho over shared models (grey: fewer than 3)")
        return figure


def blocks_figure(matrix: pd.DataFrame) -> Figure:
    """The pairs of papers that share three models or more, with the numbers in the cells."""
    listed = dimensions().set_index(["paper", "column"])
    across = matrix[(matrix["kind"] != WITHIN) & matrix["rho"].notna()]
    pairs = list(dict.fromkeys(zip(across["paper_a"], across["paper_b"], strict=True)))
    with style():
        figure, grid = plt.subplots(1, len(pairs), figsize=(14, 6.2), gridspec_kw={"wspace": 0.35})
        for axes, (a, b) in zip(np.atleast_1d(grid), pairs, strict=True):
            own = across[(across["paper_a"] == a) & (across["paper_b"] == b)]
            down, over, left, top = a, b, "column_a", "column_b"
            if len(dimensions(b)) > len(dimensions(a)):  # the longer list becomes the rows
                down, over, left, top = b, a, "column_b", "column_a"
            block = own.pivot(index=left, columns=top, values="rho")
            block = block.reindex(own[left].drop_duplicates()).reindex(columns=own[top].drop_duplicates())
            same = [[listed["construct"][down, i] == listed["construct"][over, j] for j in block.columns] for i in block.index]
            for y, x in zip(*np.nonzero(same), strict=True):
                axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=1.6))
            image = heat_map(
                axes,
                block,
                [listed["header"][down, i] for i in block.index],
                [listed["header"][over, j] for j in block.columns],
                "{:.1f}",
            )
            axes.set_title(f"{down} (down) against {over} (across): n = {own['n'].max()} models", fontsize=10)
        figure.colorbar(image, ax=grid, shrink=0.7, label="Spearman's rho")
        return figure


def heat_map(axes: Axes, matrix: pd.DataFrame, rows: list[str], columns: list[str], text: str = "") -> AxesImage:
    image = axes.imshow(np.ma.masked_invalid(matrix.to_numpy(dtype=float)), cmap="RdBu_r", vmin=-1, vmax=1)
    axes.set_xticks(range(len(columns)), columns, rotation=60, ha="right", fontsize=7.5)
    axes.set_yticks(range(len(rows)), rows, fontsize=7.5)
    axes.spines[:].set_visible(False)
    if text:
        for (y, x), value in np.ndenumerate(matrix.to_numpy(dtype=float)):
            if np.isfinite(value):
                axes.text(
                    x, y, text.format(value), ha="center", va="center", fontsize=7.5, color="white" if abs(value) > 0.6 else "black"
                )
    return image
