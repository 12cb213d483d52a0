"""Validation of the trigger judge against people's majority (MBench table 6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.binary import FN, FP, TN, TP, measure_row, outcome_cells, ratio_measure, share_measure


def trigger_validation(
    human: ArrayLike,
    judge: ArrayLike,
    subsets: ArrayLike | None = None,
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Tidy rows (subset, measure, value, low, high, n, reason) of accuracy, precision, recall and F1, per subset and "overall".

    accuracy = (TP+TN)/n, precision = TP/(TP+FP), recall = TP/(TP+FN) with Wilson intervals (over effective cases when `clusters`
    is given), F1 = 2TP/(2TP+FP+FN) with a bootstrap interval. A judge that never says yes has no precision: its row says so.
    """
    cells = outcome_cells(human, judge)
    if len(cells) == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no clip has both a human majority and a judge's answer")
    names = np.full(len(cells), "overall", dtype=object) if subsets is None else np.asarray(subsets, dtype=object)
    if len(names) != len(cells):
        raise UsageError(f"one subset per label is needed: {len(cells)} labels, {len(names)} subsets")
    groups = None if clusters is None else np.asarray(clusters, dtype=object)
    parts = [] if subsets is None else [(name, names == name) for name in sorted(set(names.tolist()))]
    rows = []
    for name, chosen in [*parts, ("overall", np.ones(len(cells), dtype=bool))]:
        measures = _measures(cells[chosen], None if groups is None else groups[chosen], resamples, confidence, seed)
        rows += [{"subset": name, **row} for row in measures]
    return pd.DataFrame(rows)


def _measures(
    cells: NDArray[np.float64], clusters: ArrayLike | None, resamples: int, confidence: float, seed: int
) -> list[dict[str, Any]]:
    def share(name: str, hits: tuple[int, ...], among: tuple[int, ...]) -> dict[str, Any]:
        return measure_row(lambda: share_measure(name, cells, hits, among, clusters, confidence), name)

    return [
        share("accuracy", (TP, TN), (TP, FP, FN, TN)),
        share("precision", (TP,), (TP, FP)),
        share("recall", (TP,), (TP, FN)),
        measure_row(lambda: ratio_measure("F1", cells, _f1, clusters, resamples, confidence, seed), "f1"),
    ]


def _f1(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    return 2 * totals[:, TP] / (2 * totals[:, TP] + totals[:, FP] + totals[:, FN])
