"""What a MemoBench dataset contains: its camera trajectories (table S2), as table and figure."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from lookback.figures import PALETTE, style


def trajectory_statistics(screen: pd.DataFrame) -> pd.DataFrame:
    """Table S2: clips, mean total camera rotation (deg) and mean gap (frames) by subset and trajectory class.

    A clip counts once, however many models generated it. `n_rotation` and `n_gap` are the numbers of clips with a value.
    """
    rows = screen.drop_duplicates(["setting", "clip_id"])
    rows = rows.assign(trajectory=rows["trajectory"].replace("", "no poses"), gap=rows["gap_frames"].astype("float64"))
    table = rows.groupby(["setting", "trajectory"], sort=True).agg(
        n_clips=("clip_id", "size"),
        rotation_deg=("total_rotation_deg", "mean"),
        gap_frames=("gap", "mean"),
        n_rotation=("total_rotation_deg", "count"),
        n_gap=("gap", "count"),
    )
    return table.reset_index().rename(columns={"setting": "subset"})


def trajectory_figure(screen: pd.DataFrame) -> tuple[Figure, str]:
    """Table S2 as dots: mean rotation against mean gap, area by number of clips."""
    table = trajectory_statistics(screen).dropna(subset=["rotation_deg", "gap_frames"])
    with style():
        figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
        for index, (subset, rows) in enumerate(table.groupby("subset", sort=True)):
            axes.scatter(
                rows["rotation_deg"],
                rows["gap_frames"],
                s=40 + 8 * rows["n_clips"],
                color=PALETTE[index],
                alpha=0.75,
                label=str(subset),
            )
        for row in table.itertuples():
            axes.annotate(
                f"{row.trajectory} (n={row.n_clips})",
                (row.rotation_deg, row.gap_frames),
                xytext=(6, 6),
                textcoords="offset points",
                fontsize=8,
            )
        axes.set_xlabel("mean total camera rotation (deg)")
        axes.set_ylabel("mean gap (frames)")
        axes.margins(0.2)
        if len(table):
            axes.legend(frameon=False, title="subset", markerscale=0.4)
    return (
        figure,
        f"Camera trajectories of {int(table['n_clips'].sum())} MemoBench clips: the further right and up, the longer out of view.",
    )
