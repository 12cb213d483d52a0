"""The audit as a picture."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lookback.figures import style


def sensitivity_figure(table: pd.DataFrame) -> tuple[Figure, str]:
    """Heat map metric x failure of the rank correlation between severity and drop."""
    grid = table.pivot(index="metric", columns="failure", values="rank_correlation")
    counts = table.pivot(index="metric", columns="failure", values="n")
    with style():
        size = (0.55 * grid.shape[1] + 4.5, 0.27 * grid.shape[0] + 1.8)
        figure, axes = plt.subplots(figsize=size, layout="constrained")
        picture = axes.imshow(np.ma.masked_invalid(grid.to_numpy()), cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
        for row, column in np.argwhere(grid.notna().to_numpy()):
            value = grid.iat[row, column]
            colour = "white" if abs(value) > 0.6 else "black"
            axes.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=6.5, color=colour)
        axes.set_xticks(range(grid.shape[1]), [name.replace("_", " ") for name in grid.columns], rotation=45, ha="right")
        axes.set_yticks(range(grid.shape[0]), grid.index, fontsize=7.5)
        axes.set_xlabel("injected failure")
        figure.colorbar(picture, label="rank correlation of severity and drop", shrink=0.7)
    low, high = int(np.nanmin(counts.to_numpy())), int(np.nanmax(counts.to_numpy()))
    return figure, (
        "Blue: the metric falls as the failure gets worse; white: it does not notice; red: it rises. "
        f"Each cell compares {low} to {high} failing clips with the faithful clip of the same scene and camera; empty: none."
    )
