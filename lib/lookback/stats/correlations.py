"""Spearman's rho and Kendall's tau-b: permutation tests for a few models, cluster bootstrap for many units, pairs of metrics.

Few models: with m untied models the two-sided permutation p cannot fall under 2/m!, so no result from 4 models can reach 0.05.

Many units: ranks are recomputed inside every resample. Where cluster s is drawn c_s times, a value's mid-rank is a sum over
clusters of c_t times how many of t's values lie below it. Summed over the units with one label that is a quadratic form in c, so
a few-valued label needs one G x G matrix per label; other inputs take weighted mid-ranks, one cumulative sum per resample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations, permutations
from math import factorial
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.sparse import csr_array
from scipy.stats import rankdata

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.design import holm
from lookback.stats.intervals import (
    CHUNK_CELLS,
    CORRELATION,
    Estimate,
    bootstrap_ci,
    enough_resamples,
    method_text,
    number,
    resample_weights,
    varying_interval,
)
from lookback.stats.ratings import Codes, Floats, cluster_codes

# 9! = 362,880 orders are enumerated; more models use random orders
EXACT_MODELS = 9
RANDOM_ORDERS = 99_999
SLACK = 1e-9
# a spread this small beside the values is rounding
CONSTANT = 1e-12
# labels with at most this many values, in at most this many clusters, take the quadratic form
FEW_LEVELS, FEW_CLUSTERS = 8, 2000
Method = Literal["pearson", "spearman"]
Interval = Literal["fisher", "bootstrap"]


@dataclass(frozen=True)
class PermutationTest:
    """A correlation with its two-sided permutation p and the smallest p these values could have given."""

    value: float
    p: float
    smallest_p: float
    exact: bool


def smallest_attainable_p(m: int) -> float:
    """The smallest two-sided permutation p with m untied models: 2/m! (identity and reversal), at most 1.

    >>> [round(smallest_attainable_p(m), 4) for m in (3, 4, 6, 8)]
    [0.3333, 0.0833, 0.0028, 0.0]
    """
    if m < 2:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"ranking needs at least two models, got {m}")
    return min(1.0, 2 / factorial(m))


def _ratio(covariance: Floats, scale: Floats) -> Floats:
    """A correlation, NaN where nothing varies; ranks are half-integers, so a true scale is never this small."""
    return np.asarray(np.divide(covariance, scale, out=np.full(scale.shape, np.nan), where=scale > SLACK))


def spearman_rows(x: Floats, y: Floats) -> Floats:
    """Spearman's rho of each row of x with the same row of y (mid-ranks for ties); NaN where a row is constant."""
    rx, ry = rankdata(x, axis=-1), rankdata(y, axis=-1)
    rx, ry = rx - rx.mean(axis=-1, keepdims=True), ry - ry.mean(axis=-1, keepdims=True)
    scale = np.sqrt((rx**2).sum(axis=-1) * (ry**2).sum(axis=-1))
    return _ratio((rx * ry).sum(axis=-1), scale)


def kendall_rows(x: Floats, y: Floats) -> Floats:
    """Kendall's tau-b of each row of x with the same row of y; NaN where a row is constant."""
    i, j = np.triu_indices(x.shape[-1], 1)
    sx = np.sign(x[..., i] - x[..., j])
    sy = np.sign(y[..., i] - y[..., j])
    scale = np.sqrt((sx**2).sum(axis=-1) * (sy**2).sum(axis=-1))
    return _ratio((sx * sy).sum(axis=-1), scale)


@lru_cache(maxsize=4)
def _orders(m: int, seed: int) -> NDArray[np.int16]:
    """Every order of m models where they are few, else random ones."""
    if m <= EXACT_MODELS:
        return np.array(list(permutations(range(m))), dtype=np.int16)
    return np.argsort(np.random.default_rng(seed).random((RANDOM_ORDERS, m)), axis=1).astype(np.int16)


def permutation_tests(x: Floats, y: Floats, seed: int = 0) -> tuple[PermutationTest, PermutationTest]:
    """(Spearman, Kendall tau-b) with p = share of orders of y whose |statistic| reaches the observed one.

    Up to 9 models every order is enumerated; above, 99,999 seeded random orders and the observed one.
    """
    return spearman_test(x, y, seed), _permutation_test(x, y, seed, kendall_rows, _kendall_of_orders)


def spearman_test(x: Floats, y: Floats, seed: int = 0) -> PermutationTest:
    """The first of `permutation_tests` alone, which is the faster one."""
    return _permutation_test(x, y, seed, spearman_rows, _spearman_of_orders)


def _permutation_test(
    x: Floats,
    y: Floats,
    seed: int,
    statistic: Callable[[Floats, Floats], Floats],
    of_orders: Callable[[Floats, Floats, NDArray[np.integer]], Floats],
) -> PermutationTest:
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.ndim != 1 or x.shape != y.shape:
        raise UsageError(f"two lists of the same models are needed, got shapes {x.shape} and {y.shape}")
    m = len(x)
    if m < 2:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"ranking needs at least two models, got {m}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise UsageError("model values must be finite; leave out models without a score")
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        which = "the first" if np.ptp(x) == 0 else "the second"
        raise NotScorable(Reason.UNDEFINED, f"{which} ranking is constant: all {m} models are tied")
    order = np.lexsort((y, x))  # random orders then give the same p, in whatever order the models come
    x, y = x[order], y[order]
    exact = m <= EXACT_MODELS
    orders = _orders(m, 0 if exact else seed)
    observed = float(statistic(x[None], y[None])[0])
    extreme = np.abs(of_orders(x, y, orders))
    reached = int((extreme >= abs(observed) - SLACK).sum())
    if not exact:
        return PermutationTest(observed, (reached + 1) / (len(orders) + 1), 1 / (len(orders) + 1), exact)
    smallest = float((extreme >= extreme.max() - SLACK).sum() / len(orders))
    return PermutationTest(observed, reached / len(orders), smallest, exact)


def _spearman_of_orders(x: Floats, y: Floats, orders: NDArray[np.integer]) -> Floats:
    """rho of x with y in every order: ranks move with their values, so each list is ranked once."""
    rx, ry = (rankdata(values) - (len(values) + 1) / 2 for values in (x, y))
    return np.asarray(ry[orders] @ rx / np.sqrt((rx**2).sum() * (ry**2).sum()))


def _kendall_of_orders(x: Floats, y: Floats, orders: NDArray[np.integer]) -> Floats:
    """tau-b of x with y in every order: the sign of each pair of y is looked up in a small table."""
    m = len(x)
    signs_x, signs_y = (np.sign(values[:, None] - values).astype(np.int16) for values in (x, y))
    place = orders.T.astype(np.intp)
    agreement = np.zeros(len(orders), np.int16)
    for i, j in zip(*np.triu_indices(m, 1), strict=True):
        agreement += signs_x[i, j] * signs_y.ravel().take(place[i] * m + place[j])
    return np.asarray(agreement / np.sqrt(np.abs(signs_x).sum() / 2 * np.abs(signs_y).sum() / 2))


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
    resamples = enough_resamples(resamples, n_groups, confidence)
    draws = spearman_draws(first, second, groups, resamples, seed)
    low, high, note = varying_interval(draws, value, n_groups, confidence)
    se, p = None, None
    if note == "":
        defined = draws[np.isfinite(draws)]
        se = float(np.std(defined, ddof=1))
        spread = float(np.std(np.arctanh(np.clip(defined, -0.999999, 0.999999)), ddof=1))
        z = abs(np.arctanh(np.clip(value, -0.999999, 0.999999)))
        p = float(2 * stats.t.sf(z / spread, n_groups - 1)) if spread > 0 else None
    method = method_text(resamples, n_groups, "units" if clusters is None else "clusters", seed)
    return Estimate("Spearman's rho", value, n, low, high, se, p, confidence, method, note)


def spearman_draws(x: Floats, y: Floats, groups: Codes, resamples: int, seed: int) -> Floats:
    """rho in every resample of the clusters; NaN where a resample is constant."""
    return weighted_spearman(x, y, groups, resample_weights(int(groups.max()) + 1, resamples, seed))


def weighted_spearman(x: Floats, y: Floats, groups: Codes, chunks: Iterable[Floats]) -> Floats:
    """rho for every row of the chunks, which say how often each cluster counts; NaN where what counts is constant."""
    n_groups = int(groups.max()) + 1
    if len(np.unique(x)) < len(np.unique(y)):
        x, y = y, x
    if len(np.unique(y)) <= FEW_LEVELS and n_groups <= FEW_CLUSTERS:
        form = _QuadraticForm(x, np.unique(y, return_inverse=True)[1], groups, n_groups)
        return np.concatenate([form.rho(weights) for weights in chunks])
    rows = max(1, CHUNK_CELLS // (8 * len(x)))
    draws = []
    for weights in chunks:
        for start in range(0, len(weights), rows):
            draws.append(_weighted_rho(x, y, weights[start : start + rows, groups]))
    return np.concatenate(draws)


class _QuadraticForm:
    """Sums of x's mid-ranks over the units of each label, for any cluster weights."""

    def __init__(self, x: Floats, labels: Codes, groups: Codes, n_groups: int):
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

    def rho(self, weights: Floats) -> Floats:
        label_sizes = weights @ self.sizes.T
        total = label_sizes.sum(axis=1)
        rank_sums = np.stack([np.einsum("bs,bs->b", weights @ form.T, weights) for form in self.forms], axis=1) + label_sizes / 2
        label_ranks = np.cumsum(label_sizes, axis=1) - label_sizes / 2 + 0.5
        covariance = (rank_sums * label_ranks).sum(axis=1) - total * (total + 1) ** 2 / 4
        tied = weights**3 @ self.alone + ((self.ties @ weights.T) ** 3).sum(axis=0)
        spread_x = (total**3 - tied) / 12
        spread_y = (total**3 - (label_sizes**3).sum(axis=1)) / 12
        scale = np.sqrt(np.maximum(spread_x, 0) * np.maximum(spread_y, 0))
        return _ratio(covariance, scale)


def _sums_of_counts(positions: Codes, cell: Codes, groups: Codes, n_cells: int, n_groups: int) -> Floats:
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


def _weighted_rho(x: Floats, y: Floats, weights: Floats) -> Floats:
    rx, ry = weighted_ranks(x, weights), weighted_ranks(y, weights)
    total = weights.sum(axis=1, keepdims=True)
    rx -= (weights * rx).sum(axis=1, keepdims=True) / total
    ry -= (weights * ry).sum(axis=1, keepdims=True) / total
    weighted = weights * rx
    covariance = (weighted * ry).sum(axis=1)
    scale = np.sqrt((weighted * rx).sum(axis=1) * (weights * ry * ry).sum(axis=1))
    return _ratio(covariance, scale)


def weighted_ranks(values: Floats, weights: Floats) -> Floats:
    """Mid-ranks of each unit inside every resample (resamples x units)."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    tied = np.add.reduceat(weights[:, order], starts, axis=1)
    middle = np.cumsum(tied, axis=1) - tied / 2 + 0.5
    group_of_unit = np.empty(len(values), dtype=np.int64)
    group_of_unit[order] = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(values)]))
    return middle[:, group_of_unit]


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
    sqrt((1 + r^2/2)/(n-3)) for Spearman (Bonett & Wright 2000); "bootstrap" resamples models. There is no interval where |r| is 1.
    Spearman's p is that of a permutation test, as in `rank_agreement`.
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
        row: dict[str, object] = {
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


def _correlate(both: Floats, method: Method, interval: Interval, resamples: int, confidence: float, seed: int) -> dict[str, object]:
    n = len(both)
    if n < 4:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"a correlation with an interval needs four models, got {n}")
    if not np.isfinite(both).all():
        raise NotScorable(Reason.UNDEFINED, "one of the two metrics is infinite for some model")
    # means that differ by rounding alone do not vary
    if (np.ptp(both, axis=0) <= CONSTANT * np.abs(both).max(axis=0)).any():
        raise NotScorable(Reason.UNDEFINED, "one of the two metrics is constant over the models")
    both = both[np.lexsort(both.T)]  # resampled by content, not by the order of the models
    x, y = both.T
    if method == "pearson":
        result = stats.pearsonr(x, y)
        r, p = float(result.statistic), float(result.pvalue)
    else:
        test = spearman_test(x, y, seed)
        r, p = test.value, test.p
    row = {"r": r, "p": p, "reason": ""}
    if abs(r) > 1 - CONSTANT:
        return {**row, "reason": "no interval: it needs a correlation short of 1"}
    if interval == "bootstrap":
        drawn = partial(bootstrap_ci, resamples=resamples, confidence=confidence, seed=seed)
        found = drawn(both, lambda d: _plain(d, method), bounds=CORRELATION)
        return {**row, "low": number(found.low), "high": number(found.high), "reason": found.note}
    inflation = 1.0 if method == "pearson" else 1 + r**2 / 2
    half = float(stats.norm.ppf(0.5 + confidence / 2)) * np.sqrt(inflation / (n - 3))
    return {**row, "low": float(np.tanh(np.arctanh(r) - half)), "high": float(np.tanh(np.arctanh(r) + half))}


def _plain(rows: Floats, method: Method) -> float:
    columns = stats.rankdata(rows, axis=0) if method == "spearman" else rows
    centred = columns - columns.mean(axis=0)
    scale = np.sqrt((centred**2).sum(axis=0).prod())
    return float((centred[:, 0] * centred[:, 1]).sum() / scale) if scale > 0 else np.nan
