"""What a WRBench dataset holds: its 2x2 of event factors by action and camera, as table and figure."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lookback.benchmarks.wrbench.natural25 import LEVELS
from lookback.figures import style


def event_factor_coverage(clips: pd.DataFrame) -> pd.DataFrame:
    """The 2x2 of spatial displacement and state change by action and camera: clips, scenes and models in every cell.

    Cells without a clip stay in with 0, so that a hole in the design is seen.
    """
    rows = clips[clips["event_level"] != ""]
    cells = rows.groupby(["event_level", "event_action", "camera"], sort=True).agg(
        n_clips=("clip_id", "size"), n_scenes=("scene", "nunique"), n_models=("model_id", "nunique")
    )
    axes = [list(LEVELS), sorted(rows["event_action"].unique()), sorted(rows["camera"].unique())]
    full = cells.reindex(pd.MultiIndex.from_product(axes, names=cells.index.names), fill_value=0).reset_index()
    full.insert(1, "spatial", full["event_level"].isin(["spatial", "full"]))
    full.insert(2, "state", full["event_level"].isin(["state", "full"]))
    return full


def event_coverage_figure(clips: pd.DataFrame) -> tuple[Figure, str]:
    """Heat map of clips per event level and camera, for the 2x2 design."""
    cells = event_factor_coverage(clips)
    table = cells.pivot_table(index="event_level", columns="camera", values="n_clips", aggfunc="sum", sort=False)
    with style():
        figure, axes = plt.subplots(figsize=(1.1 * table.shape[1] + 2.6, 3.0), layout="constrained")
        image = axes.imshow(table.to_numpy(), cmap="Blues", vmin=0, aspect="auto")
        axes.set_xticks(range(table.shape[1]), [name or "none" for name in table.columns], rotation=20)
        axes.set_yticks(range(table.shape[0]), table.index)
        for (row, column), value in np.ndenumerate(table.to_numpy()):
            dark = value > table.to_numpy().max() / 2
            axes.text(column, row, f"{value:.0f}", ha="center", va="center", color="white" if dark else "black")
        axes.set_xlabel("camera request")
        axes.set_ylabel("event level")
        figure.colorbar(image, ax=axes, label="clips")
    holes = int((table.to_numpy() == 0).sum())
    return figure, (
        f"Event factors: {int(table.to_numpy().sum())} clips by event level (none, spatial displacement, state change, both) "
        f"and camera request; empty cells: {holes}."
    )
