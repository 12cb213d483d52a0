"""Correlation structure between metrics at model level, with intervals (WRBench figure 4)."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from scipy import stats

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.bootstrap import bootstrap_ci
from lookback.stats.holm import holm

Method = Literal["pearson", "spearman"]
Interval = Literal["fisher", "bootstrap"]


def correlation_structure(
    values: pd.DataFrame,
    *,
    method: Method = "pearson",
    interval: Interval = "fisher",
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Tidy rows (metric_a, metric_b, r, low, high, p, p_holm, n, reason) for every pair of columns of models x metrics.

    Pairs of values are used where both are present. Fisher's z has standard error 1/sqrt(n-3) for Pearson and
    sqrt((1 + r^2/2)/(n-3)) for Spearman (Bonett & Wright 2000); "bootstrap" resamples models.
    """
    if method not in get_args(Method) or interval not in get_args(Interval):
        raise UsageError(
            f"method is one of {get_args(Method)} and interval one of {get_args(Interval)}, got {method!r}, {interval!r}"
        )
    if values.shape[1] < 2:
        raise UsageError(f"a correlation needs at least two metrics, got {list(values.columns)}")
    rows = []
    for a, b in combinations(values.columns, 2):
        both = values[[a, b]].dropna().to_numpy(dtype=float)
        row: dict[str, Any] = {
            "metric_a": a,
            "metric_b": b,
            "r": np.nan,
            "low": np.nan,
            "high": np.nan,
            "p": np.nan,
            "n": len(both),
        }
        try:
            row |= _correlate(both, method, interval, resamples, confidence, seed)
        except NotScorable as missing:
            row["reason"] = str(missing)
        rows.append(row)
    table = pd.DataFrame(rows)
    tested = table["p"].notna()
    table["p_holm"] = np.nan
    table.loc[tested, "p_holm"] = holm(table.loc[tested, "p"], family_size=len(table))
    return table[["metric_a", "metric_b", "r", "low", "high", "p", "p_holm", "n", "reason"]]


def _correlate(
    both: np.ndarray, method: Method, interval: Interval, resamples: int, confidence: float, seed: int
) -> dict[str, Any]:
    n = len(both)
    if n < 4:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"a correlation with an interval needs four models, got {n}")
    if (np.ptp(both, axis=0) == 0).any():
        raise NotScorable(Reason.UNDEFINED, "one of the two metrics is constant over the models")
    function = stats.pearsonr if method == "pearson" else stats.spearmanr
    result = function(both[:, 0], both[:, 1])
    r = float(result.statistic)
    row = {"r": r, "p": float(result.pvalue), "reason": ""}
    if interval == "bootstrap":
        estimate = bootstrap_ci(both, lambda d: _plain(d, method), resamples=resamples, confidence=confidence, seed=seed)
        bounds = (estimate.low, estimate.high)
        return {**row, "low": _number(bounds[0]), "high": _number(bounds[1])}
    inflation = 1.0 if method == "pearson" else 1 + r**2 / 2
    half = float(stats.norm.ppf(0.5 + confidence / 2)) * np.sqrt(inflation / (n - 3))
    z = np.arctanh(np.clip(r, -1 + 1e-15, 1 - 1e-15))
    return {**row, "low": float(np.tanh(z - half)), "high": float(np.tanh(z + half))}


def _plain(rows: np.ndarray, method: Method) -> float:
    columns = stats.rankdata(rows, axis=0) if method == "spearman" else rows
    centred = columns - columns.mean(axis=0)
    scale = np.sqrt((centred**2).sum(axis=0).prod())
    return float((centred[:, 0] * centred[:, 1]).sum() / scale) if scale > 0 else np.nan


def _number(value: float | None) -> float:
    return np.nan if value is None else value
