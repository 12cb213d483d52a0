"""What a WRBench dataset contains: the 2x2 of event factors by action and camera, as table and figure."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lookback.benchmarks.wrbench.natural25 import LEVELS
from lookback.figures import heatmap, style


def event_factor_coverage(clips: pd.DataFrame) -> pd.DataFrame:
    """The 2x2 of spatial displacement and state change by action and camera: clips, scenes and models in every cell.

    Cells without a clip are kept with 0, so that gaps in the design are visible.
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
        shown = table.rename(columns=lambda name: name or "none")
        most = max(1.0, float(np.nanmax(table.to_numpy(dtype=float), initial=0)))
        heatmap(axes, shown, table.map("{:.0f}".format).to_numpy(), colours="Blues", low=0, high=most, label="clips")
        axes.set(xlabel="camera request", ylabel="event level")
    holes = int((table.to_numpy() == 0).sum())
    return figure, (
        f"Event factors: {int(table.to_numpy().sum())} clips by event level (none, spatial displacement, state change, both) "
        f"and camera request; empty cells: {holes}."
    )
