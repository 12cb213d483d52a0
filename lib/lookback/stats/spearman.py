"""Spearman's rho of many units with a vectorised cluster bootstrap: ranks are recomputed inside every resample.

In a resample that draws cluster s c_s times, a value's mid-rank is a sum over clusters of c_t times how many of t's values lie
below it. Summed over the units with one label, that is a quadratic form in c, so a few-valued label needs one G x G matrix per
label and a matrix product for all resamples. Other inputs go through weighted mid-ranks, one cumulative sum per resample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.sparse import csr_array

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.bootstrap import CHUNK_CELLS, method_text, resample_weights, varying_interval
from lookback.stats.codes import cluster_codes
from lookback.stats.estimate import Estimate
from lookback.stats.ranks import spearman_rows

# labels with at most this many values, in at most this many clusters, take the quadratic form
FEW_LEVELS, FEW_CLUSTERS = 8, 2000


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
    draws = spearman_draws(first, second, groups, resamples, seed)
    low, high, note = varying_interval(draws, n_groups, confidence)
    se, p = None, None
    if note == "":
        defined = draws[np.isfinite(draws)]
        se = float(np.std(defined, ddof=1))
        spread = float(np.std(np.arctanh(np.clip(defined, -0.999999, 0.999999)), ddof=1))
        z = abs(np.arctanh(np.clip(value, -0.999999, 0.999999)))
        p = float(2 * stats.t.sf(z / spread, n_groups - 1)) if spread > 0 else None
    method = method_text(resamples, n_groups, "units" if clusters is None else "clusters", seed)
    return Estimate("Spearman's rho", value, n, low, high, se, p, confidence, method, note)


def spearman_draws(
    x: NDArray[np.float64], y: NDArray[np.float64], groups: NDArray[np.int64], resamples: int, seed: int
) -> NDArray[np.float64]:
    """rho in every resample of the clusters; NaN where a resample is constant."""
    n_groups = int(groups.max()) + 1
    if len(np.unique(x)) < len(np.unique(y)):
        x, y = y, x
    if len(np.unique(y)) <= FEW_LEVELS and n_groups <= FEW_CLUSTERS:
        form = _QuadraticForm(x, np.unique(y, return_inverse=True)[1], groups, n_groups)
        return np.concatenate([form.rho(weights) for weights in resample_weights(n_groups, resamples, seed)])
    rows = max(1, CHUNK_CELLS // (8 * len(x)))
    draws = []
    for weights in resample_weights(n_groups, resamples, seed):
        for start in range(0, len(weights), rows):
            draws.append(_weighted_rho(x, y, weights[start : start + rows, groups]))
    return np.concatenate(draws)


class _QuadraticForm:
    """Sums of x's mid-ranks over the units of each label, for any cluster weights."""

    def __init__(self, x: NDArray[np.float64], labels: NDArray[np.int64], groups: NDArray[np.int64], n_groups: int):
        self.levels = int(labels.max()) + 1
        self.sizes = np.stack([np.bincount(groups[labels == k], minlength=n_groups) for k in range(self.levels)]).astype(float)
        order = np.argsort(x, kind="stable")
        ordered, labels, groups = x[order], labels[order], groups[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        lengths = np.diff(np.r_[starts, len(x)])
        tie = np.repeat(np.arange(len(starts)), lengths)
        below, upto = starts[tie], (starts + lengths)[tie]
        cell = labels * n_groups + groups
        counted = _sums_of_counts(below, cell, groups, self.levels * n_groups, n_groups)
        counted += _sums_of_counts(upto, cell, groups, self.levels * n_groups, n_groups)
        self.forms = counted.reshape(self.levels, n_groups, n_groups) / 2
        shared = lengths[tie] > 1
        self.alone = np.bincount(groups[~shared], minlength=n_groups).astype(float)
        names, column = np.unique(tie[shared], return_inverse=True)
        self.ties = csr_array((np.ones(int(shared.sum())), (column, groups[shared])), shape=(len(names), n_groups))

    def rho(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        label_sizes = weights @ self.sizes.T
        total = label_sizes.sum(axis=1)
        rank_sums = np.stack([np.einsum("bs,bs->b", weights @ form.T, weights) for form in self.forms], axis=1) + label_sizes / 2
        label_ranks = np.cumsum(label_sizes, axis=1) - label_sizes / 2 + 0.5
        covariance = (rank_sums * label_ranks).sum(axis=1) - total * (total + 1) ** 2 / 4
        tied = weights**3 @ self.alone + ((self.ties @ weights.T) ** 3).sum(axis=0)
        spread_x = (total**3 - tied) / 12
        spread_y = (total**3 - (label_sizes**3).sum(axis=1)) / 12
        scale = np.sqrt(np.maximum(spread_x, 0) * np.maximum(spread_y, 0))
        return np.divide(covariance, scale, out=np.full(len(weights), np.nan), where=scale > 1e-9)


def _sums_of_counts(
    positions: NDArray[np.int64], cell: NDArray[np.int64], groups: NDArray[np.int64], n_cells: int, n_groups: int
) -> NDArray[np.float64]:
    """Sum over units, by cell, of how many of each cluster's units stand among the first `position` ones (positions ascend)."""
    result = np.zeros((n_cells, n_groups))
    chunk = max(1, CHUNK_CELLS // n_groups)
    before = np.zeros(n_groups)
    for start in range(0, len(groups), chunk):
        stop = min(start + chunk, len(groups))
        counts = np.zeros((stop - start + 1, n_groups))
        counts[np.arange(1, stop - start + 1), groups[start:stop]] = 1
        counts[0] = before
        np.cumsum(counts, axis=0, out=counts)
        last = stop if stop < len(groups) else len(groups) + 1
        chosen = slice(*np.searchsorted(positions, [start, last]))
        own = cell[chosen]
        if len(own):
            by_cell = np.argsort(own, kind="stable")
            edges = np.flatnonzero(np.r_[True, np.diff(own[by_cell]) > 0])
            rows = counts[positions[chosen][by_cell] - start]
            result[own[by_cell][edges]] += np.add.reduceat(rows, edges, axis=0)
        before = counts[-1].copy()
    return result


def _weighted_rho(x: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    rx, ry = _weighted_ranks(x, weights), _weighted_ranks(y, weights)
    total = weights.sum(axis=1, keepdims=True)
    rx -= (weights * rx).sum(axis=1, keepdims=True) / total
    ry -= (weights * ry).sum(axis=1, keepdims=True) / total
    weighted = weights * rx
    covariance = (weighted * ry).sum(axis=1)
    scale = np.sqrt((weighted * rx).sum(axis=1) * (weights * ry * ry).sum(axis=1))
    return np.divide(covariance, scale, out=np.full(len(weights), np.nan), where=scale > 1e-9)


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
