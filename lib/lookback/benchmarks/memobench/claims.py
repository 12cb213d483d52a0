"""Recomputations for claims that only MemoBench's text makes."""

from __future__ import annotations

from lookback.published.recomputations import Tables, rank, recomputation


@recomputation()
def underlines_recomputed(tables: Tables, table: str) -> int:
    """MemoBench: underlined cells that are second best of their column over all models."""
    lower = set(tables["dimensions"].loc[~tables["dimensions"]["higher_is_better"], "column"])
    marks = tables["memobench_underlined"]
    return sum(rank(tables, table, row.model, row.column, None, row.column in lower) == 2 for row in marks.itertuples())
