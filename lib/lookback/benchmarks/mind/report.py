"""MIND's tables of a run: the measures per model, for each test and perspective, and the pose error by group of actions."""

from __future__ import annotations

import pandas as pd

from lookback.report.model_table import POOLED, Column, backend_note, model_table
from lookback.report.paper import PaperData
from lookback.report.table import PaperTable
from lookback.scoring.aggregate import aggregate

PERSPECTIVES = {"1st_data": "first person", "3rd_data": "third person"}


def _compared(metric: str) -> list[Column]:
    """The four measures of two pictures."""
    return [
        Column(f"{metric} {name}", f"mind.{metric}", name, digits=digits)
        for name, digits in (("mse", 4), ("psnr", 2), ("ssim", 3), ("lpips", 3))
    ]


MIRROR = _compared("gsc")
PREDICTED = [
    *_compared("lcm"),
    Column("imaging", "mind.visual", "imaging", digits=3),
    Column("aesthetic", "mind.visual", "aesthetic", digits=3),
    Column("dino mse", "mind.dino", digits=5),
    Column("RPE trans", "mind.action", "__overall__:trans", digits=4),
    Column("RPE rot (deg)", "mind.action", "__overall__:rot", digits=3),
]


def paper_tables(data: PaperData) -> list[PaperTable]:
    """The measures per model, one table per test and one per perspective; then the pose error by group of actions."""
    own, seed, resamples = data.items, data.seed, data.resamples
    tables = []
    for subset, tested in own.groupby("subset", sort=True):
        apart = {str(name): rows for name, rows in tested.groupby("setting", sort=True)}
        parts = {"": tested} | (apart if len(apart) > 1 else {})
        for setting, rows in parts.items():
            summary = aggregate(rows, seed=seed, resamples=resamples, by=POOLED)
            name = "-".join(filter(None, ("mind", str(subset), setting)))
            title = ", ".join(filter(None, (f"MIND, {subset}", PERSPECTIVES.get(setting, setting))))
            table = model_table(name, title, summary, MIRROR if subset == "mirror_test" else PREDICTED, intervals=data.intervals)
            table.notes.append(backend_note(rows))
            tables.append(table)
    return [*tables, *_by_action(own, seed, resamples)]


def _by_action(own: pd.DataFrame, seed: int, resamples: int) -> list[PaperTable]:
    """MIND's action accuracy by group of actions: relative pose error, rotation in degrees and translation."""
    rows = own[own["metric"] == "mind.action"]
    groups = dict.fromkeys(phase.rpartition(":")[0] for phase in sorted(rows["phase"].unique()) if ":" in phase)
    if not groups:
        return []
    columns = [
        Column(
            f"{group.replace('__overall__', 'all').removeprefix('act:').replace('_', ' ')} {measure}",
            "mind.action",
            f"{group}:{measure}",
            digits=4,
        )
        for group in groups
        for measure in ("rot", "trans")
    ]
    summary = aggregate(rows, seed=seed, resamples=resamples, by=POOLED)
    title = "MIND: relative pose error by group of actions (rotation in degrees, translation)"
    table = model_table("mind-action", title, summary, columns)
    table.notes.append(backend_note(rows))
    return [table]
