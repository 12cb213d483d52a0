"""Recomputations for claims that only WRBench's text makes."""

from __future__ import annotations

from lookback.benchmarks.wrbench.metrics.reobservation import AVERAGED, dimension_average, is_sparse
from lookback.published.recomputations import Tables, recomputation


@recomputation()
def averages_recomputed(tables: Tables, table: str) -> int:
    """WRBench: rows whose printed Avg is the mean of its six scores, within half a digit of each (0.0005 + 0.0005)."""
    agreeing = 0
    for _, row in tables[table].iterrows():
        average = dimension_average({name: float(row[name]) for name in AVERAGED})
        agreeing += abs(average - row["avg"]) <= 0.001 + 1e-9
    return int(agreeing)


@recomputation()
def daggers_recomputed(tables: Tables, table: str) -> int:
    """WRBench: rows whose dagger follows from support and outputs by the sparse rule."""
    judged = (tables[table]["n_outputs"] * tables[table]["reobs_support_pct"] / 100).round().astype(int)
    rows = zip(judged, tables[table]["n_outputs"], tables[table]["sparse"], strict=True)
    return sum(is_sparse(int(returned), int(outputs)) == bool(dagger) for returned, outputs, dagger in rows)
