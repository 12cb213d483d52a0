"""Flipbook's table of a run."""

from __future__ import annotations

from lookback.report.model_table import Column, backend_note, model_table
from lookback.report.paper import PaperData
from lookback.report.table import PaperTable
from lookback.scoring.aggregate import aggregate

COLUMNS = (
    Column("Colour return", "flipbook.colour_return", digits=3),
    Column("Left and returned (%)", "flipbook.left_and_returned", scale=100, digits=0),
)


def paper_tables(data: PaperData) -> list[PaperTable]:
    """One row per model. A still video leads the first column, and the second one shows that it never left."""
    summary = aggregate(data.items, seed=data.seed, resamples=data.resamples)
    table = model_table("flipbook-1", "Flipbook: the way back to the first picture", summary, COLUMNS, intervals=data.intervals)
    table.notes.append(backend_note(data.items))
    return [table]
