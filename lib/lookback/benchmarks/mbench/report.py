"""MBench's table 2 of a run: M-Scores by dimension."""

from __future__ import annotations

import pandas as pd

from lookback.report.model_table import Column, backend_note, model_table
from lookback.report.paper import PaperData
from lookback.report.table import PaperTable
from lookback.scoring.aggregate import aggregate, aggregate_triggered

DIMENSIONS = (
    ("Object geometry", "entity.object_geometry_consistency"),
    ("Object texture", "entity.object_texture_consistency"),
    ("Human identity", "entity.human_identity_consistency"),
    ("Human appearance", "entity.human_appearance_consistency"),
    ("Epipolar", "environment.spatial_epipolar"),
    ("Reprojection", "environment.spatial_reprojection"),
    ("Lighting", "environment.rendering_lighting"),
    ("Style", "environment.rendering_style"),
    ("State", "causal.state_progress"),
    ("Correctness", "causal.progress_correctness"),
    ("Text", "causal.prompt_interaction"),
    ("Action", "causal.camera_interaction"),
)


def paper_tables(data: PaperData) -> list[PaperTable]:
    """Table 2: M-Score x 100 per dimension, one table per setting.

    A is never gated. T is not gated when no trigger was asked. Then the table shows the reliability.
    """
    seed, resamples = data.seed, data.resamples
    tables = []
    for setting, prefix, words in (("T", "mbencht", "text-conditioned"), ("A", "mbencha", "action-conditioned")):
        own = data.items[data.items["setting"] == setting]
        if own.empty:
            continue
        if setting == "T" and data.gated:
            summary, value, shown = aggregate_triggered(own, seed=seed, resamples=resamples), "m_score", "M-Score"
        else:
            summary, value, shown = aggregate(own, seed=seed, resamples=resamples), "mean", "reliability"
        columns = [
            column
            for header, name in DIMENSIONS
            if not (setting == "T" and header == "Action")
            for column in _columns(header, f"{prefix}.{name}", summary, value)
        ]
        title = f"MBench table 2, {words} models: {shown} x 100"
        table = model_table(f"mbench-2-{setting.lower()}", title, summary, columns, value, intervals=data.intervals)
        if setting == "T" and not data.gated:
            table.notes.append("No trigger decides here: raw consistency of every clip, which a still video can lead.")
        if len(columns) > len({column.metric for column in columns}):
            table.notes.append(
                "A clip without a face, an object or matches cannot be measured. Left out, a model that destroys what it should "
                "keep loses its worst clips and may lead; so the table has both ways to count them."
            )
        table.notes.append(backend_note(own))
        tables.append(table)
    return tables


def _columns(header: str, metric: str, summary: pd.DataFrame, value: str) -> list[Column]:
    """The dimension's column; where clips could not be measured, also that with the other way to count them."""
    rows = summary[summary["metric"] == metric]
    columns = [Column(header, metric, scale=100)]
    if rows["n_zero"].sum():
        zero = (rows["missing"] == "zero").all()
        words, other = ("failed clips left out", "left_out") if zero else ("failed clips as 0", "zero")
        columns.append(Column(f"{header}, {words}", metric, scale=100, value=f"{value}_{other}"))
    return columns
