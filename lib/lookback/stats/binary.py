"""Measures of a yes/no judge against people's yes/no, as tidy rows with intervals: the trigger judge and judgeability."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lookback.errors import ContractError, NotScorable, Reason, UsageError
from lookback.stats.bootstrap import bootstrap_totals, varying_interval
from lookback.stats.codes import cluster_codes
from lookback.stats.estimate import Estimate
from lookback.stats.share import share

TP, FP, FN, TN = range(4)
# 1 and 0 are keys too: they equal and hash as True and False
TRUTHS = {True: True, False: False, "yes": True, "no": False}


def as_booleans(values: ArrayLike, what: str) -> NDArray[np.bool_]:
    """True/False, 1/0 or "yes"/"no" (any case) as booleans; anything else, missing included, is an error."""
    series = pd.Series(np.asarray(values, dtype=object))
    mapped = series.map(lambda v: TRUTHS.get(v.lower() if isinstance(v, str) else v))
    if mapped.isna().any():
        bad = sorted({repr(v) for v in series[mapped.isna()].head(20)})[:5]
        raise ContractError(f"{what} must be yes/no (True/False, 1/0, 'yes'/'no'); found {', '.join(bad)}")
    return mapped.to_numpy(dtype=bool)


def outcome_cells(human: ArrayLike, judge: ArrayLike) -> NDArray[np.float64]:
    """Per case the one-hot of (true positive, false positive, false negative, true negative)."""
    truth, answer = as_booleans(human, "human labels"), as_booleans(judge, "judge answers")
    if truth.shape != answer.shape:
        raise UsageError(f"one judge answer per human label is needed: {truth.shape} labels, {answer.shape} answers")
    cells = np.stack([truth & answer, ~truth & answer, truth & ~answer, ~truth & ~answer], axis=1)
    return cells.astype(float)


def measure_row(estimate: Callable[[], Estimate], measure: str) -> dict[str, Any]:
    """A tidy row: measure, value, low, high, n, reason; a measure without a value or bounds keeps its row and says why."""
    try:
        result = estimate()
    except NotScorable as missing:
        return {"measure": measure, "value": np.nan, "low": np.nan, "high": np.nan, "n": 0, "reason": str(missing)}
    low, high = (np.nan if bound is None else bound for bound in (result.low, result.high))
    return {"measure": measure, "value": result.value, "low": low, "high": high, "n": result.n, "reason": result.note}


def ratio_measure(
    name: str,
    cells: NDArray[np.float64],
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    clusters: ArrayLike | None,
    resamples: int,
    confidence: float,
    seed: int,
) -> Estimate:
    """A function of the four counts with a cluster-bootstrap interval (F1, balanced agreement)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(statistic(cells.sum(axis=0)[None])[0])
    if not np.isfinite(value):
        raise NotScorable(Reason.UNDEFINED, f"{name} is 0/0 with these counts")
    groups = cluster_codes(clusters, len(cells))
    n_groups = int(groups.max()) + 1
    draws = bootstrap_totals(cells, statistic, groups, resamples, seed)
    low, high, note = varying_interval(draws, n_groups, confidence)
    return Estimate(name, value, len(cells), low, high, confidence=confidence, method="expanded percentile bootstrap", note=note)


def share_measure(
    name: str,
    cells: NDArray[np.float64],
    hits: tuple[int, ...],
    among: tuple[int, ...],
    clusters: ArrayLike | None,
    confidence: float,
) -> Estimate:
    """hits/among of the four counts, with Wilson's interval over the (effective) cases."""
    counted = cells[:, list(among)].sum(axis=1) > 0
    own = None if clusters is None else np.asarray(clusters, dtype=object)[counted]
    hit = cells[counted][:, list(hits)].sum(axis=1) > 0
    return share(name, hit, own, confidence=confidence)
