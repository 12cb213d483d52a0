"""Spearman's rho of many units with a vectorised cluster bootstrap: ranks are recomputed inside every resample.

A resample gives unit i the weight w_i (how often its cluster was drawn); a value's mid-rank there is the weight before it plus
(its own weight + 1)/2, which one cumulative sum over sorted values yields for all resamples at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.bootstrap import CHUNK_CELLS, interval_or_note, method_text, resample_weights
from lookback.stats.codes import cluster_codes
from lookback.stats.estimate import Estimate
from lookback.stats.ranks import spearman_rows


def tie_ceiling(values: ArrayLike) -> float:
    """The largest rho an untied score can reach against tied values: sqrt(1 - sum(t^3 - t)/(n^3 - n)), ties of size t."""
    sizes = np.unique(np.asarray(values), return_counts=True)[1].astype(float)
    n = sizes.sum()
    if len(sizes) < 2:
        raise NotScorable(Reason.UNDEFINED, "all values are tied: no ranking can agree or disagree with them")
    return float(np.sqrt(1 - (sizes**3 - sizes).sum() / (n**3 - n)))


def spearman(
    x: ArrayLike,
    y: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Spearman's rho with an expanded percentile cluster-bootstrap interval; p from its error on Fisher's z scale (t test)."""
    first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if first.ndim != 1 or first.shape != second.shape:
        raise UsageError(f"Spearman's rho needs two equally long lists, got shapes {first.shape} and {second.shape}")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise UsageError("Spearman's rho needs finite values; drop missing ones first and report how many there were")
    n = len(first)
    if n < 3:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"Spearman's rho needs at least three units, got {n}")
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        raise NotScorable(Reason.UNDEFINED, "Spearman's rho is 0/0: one of the two lists is constant")
    value = float(spearman_rows(first[None], second[None])[0])
    groups = cluster_codes(clusters, n)
    n_groups = int(groups.max()) + 1
    draws = _bootstrap(first, second, groups, resamples, seed)
    low, high, note = interval_or_note(draws, n_groups, confidence)
    se, p = None, None
    if note == "":
        defined = draws[np.isfinite(draws)]
        se = float(np.std(defined, ddof=1))
        spread = float(np.std(np.arctanh(np.clip(defined, -0.999999, 0.999999)), ddof=1))
        z = abs(np.arctanh(np.clip(value, -0.999999, 0.999999)))
        p = float(2 * stats.t.sf(z / spread, n_groups - 1)) if spread > 0 else None
    method = method_text(resamples, n_groups, "units" if clusters is None else "clusters", seed)
    return Estimate("Spearman's rho", value, n, low, high, se, p, confidence, method, note)


def _bootstrap(
    x: NDArray[np.float64], y: NDArray[np.float64], groups: NDArray[np.int64], resamples: int, seed: int
) -> NDArray[np.float64]:
    rows = max(1, CHUNK_CELLS // (8 * len(x)))
    draws = []
    for weights in resample_weights(int(groups.max()) + 1, resamples, seed):
        for start in range(0, len(weights), rows):
            draws.append(_weighted_rho(x, y, weights[start : start + rows, groups]))
    return np.concatenate(draws)


def _weighted_rho(x: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    rx, ry = _weighted_ranks(x, weights), _weighted_ranks(y, weights)
    total = weights.sum(axis=1, keepdims=True)
    rx -= (weights * rx).sum(axis=1, keepdims=True) / total
    ry -= (weights * ry).sum(axis=1, keepdims=True) / total
    weighted = weights * rx
    covariance = (weighted * ry).sum(axis=1)
    scale = np.sqrt((weighted * rx).sum(axis=1) * (weights * ry * ry).sum(axis=1))
    return np.divide(covariance, scale, out=np.full(len(weights), np.nan), where=scale > 0)


def _weighted_ranks(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mid-ranks of each unit inside every resample (resamples x units)."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    tied = np.add.reduceat(weights[:, order], starts, axis=1)
    middle = np.cumsum(tied, axis=1) - tied / 2 + 0.5
    group_of_unit = np.empty(len(values), dtype=np.int64)
    group_of_unit[order] = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(values)]))
    return middle[:, group_of_unit]
