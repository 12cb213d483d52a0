"""Is one annotator unlike the others? Each check is a number per annotator, set against the mean of the others.

Each number is a function of sums over votes. Intervals of it, and tests of its difference from the others' mean, leave out one
cluster at a time (jackknife), with t of (the annotator's clusters - 1) degrees of freedom. The clusters are the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from lookback.stats.intervals import cluster_totals
from lookback.stats.jackknife import jackknife_variance
from lookback.stats.ratings import Codes, Flags, Floats

Statistic = Callable[[Floats], Floats]  # sums (..., terms) -> values (...)
PAUSE_S = 600.0  # a longer time since the last answer is a break
LARGEST = 0.99  # correlations beyond it have no larger z


def against_the_others(
    terms: Floats,
    annotators: Codes,
    clusters: Codes,
    statistic: Statistic,
    *,
    confidence: float = 0.95,
    margin: float = 0.0,
    pool: Flags | None = None,
) -> pd.DataFrame:
    """One row per annotator: value, low, high, others (mean, by their votes), p_below, p_above (one-sided tests), p_either.

    `terms` are votes x terms; `pool` are the annotators who count among the others (default: all). The tests ask whether the value
    lies below (others - margin), or above (others + margin).
    """
    count = int(annotators.max()) + 1
    totals = cluster_totals(terms, clusters * count + annotators)
    cells = int(clusters.max() + 1) * count
    sums = np.vstack([totals, np.zeros((cells - len(totals), terms.shape[1]))]).reshape(-1, count, terms.shape[1])
    seen = np.bincount(clusters * count + annotators, minlength=cells).reshape(-1, count)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = statistic(sums.sum(axis=0))
        left = statistic(sums.sum(axis=0) - sums)
    weight = seen.sum(axis=0) * (1.0 if pool is None else pool)
    others, gap = _others(value, weight), value - _others(value, weight)
    own = (seen > 0).sum(axis=0)
    half = stats.t.ppf(0.5 + confidence / 2, np.maximum(own - 1, 1)) * _spread(left, own)
    error = _spread(left - _others(left, weight), own)
    with np.errstate(invalid="ignore", divide="ignore"):
        below, above = (gap + margin) / error, (gap - margin) / error
    freedom = np.maximum(own - 1, 1)
    return pd.DataFrame(
        {
            "value": value,
            "low": value - half,
            "high": value + half,
            "others": others,
            "p_below": stats.t.cdf(below, freedom),
            "p_above": stats.t.sf(above, freedom),
            "p_either": 2 * np.minimum(stats.t.cdf(below, freedom), stats.t.sf(above, freedom)),
        }
    )


def _others(value: Floats, weight: Floats) -> Floats:
    """For each annotator (last axis) the mean of the others, weighted by their votes; undefined values do not count."""
    known = np.isfinite(value)
    total, size = np.where(known, value * weight, 0.0), known * weight
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((total.sum(axis=-1, keepdims=True) - total) / (size.sum(axis=-1, keepdims=True) - size))


def _spread(left: Floats, own: Codes) -> Floats:
    """The jackknife's standard error from the values without each cluster; NaN in one cluster, or where nothing varies."""
    error = np.sqrt(jackknife_variance(left))
    return np.asarray(np.where((own > 1) & (error > 1e-9), error, np.nan))


def share_of(sums: Floats) -> Floats:
    """hits / cases."""
    return np.asarray(sums[..., 1] / sums[..., 0])


def fisher_z(sums: Floats) -> Floats:
    """Fisher's z of the correlation, from 1, x, y, x x, y y, x y."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    r = (xy - x * y / n) / np.sqrt((xx - x**2 / n) * (yy - y**2 / n))
    return np.asarray(np.arctanh(np.clip(r, -LARGEST, LARGEST)))


def largest_share(sums: Floats) -> Floats:
    """The share of the most used answer, from the counts of all."""
    return np.asarray(sums.max(axis=-1) / sums.sum(axis=-1))


def rank_terms(own: ArrayLike, others: ArrayLike, annotators: Codes) -> Floats:
    """The terms of `fisher_z` for Spearman's rho: both ranked within each annotator, and centred, so that no digits are lost."""
    pairs = pd.DataFrame({"x": own, "y": others}, dtype=float)
    ranks = pairs.groupby(annotators).rank()
    x, y = (ranks - ranks.groupby(annotators).transform("mean")).to_numpy().T
    return np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y])


def mean_of_others(values: Floats, items: Codes) -> Floats:
    """For each vote the mean of the other votes on its item; NaN where there are none."""
    total, count = np.bincount(items, weights=values)[items], np.bincount(items)[items]
    return np.asarray(np.divide(total - values, count - 1, out=np.full(len(values), np.nan), where=count > 1))


def answers_of_others(codes: Codes, items: Codes, categories: int) -> Codes:
    """For each vote what most of the other votes on its item say; -1 where no answer has more than half of them."""
    counts = np.zeros((int(items.max()) + 1, categories), dtype=int)
    np.add.at(counts, (items, codes), 1)
    rest = counts[items] - np.eye(categories, dtype=int)[codes]
    return np.where(rest.max(axis=1) * 2 > rest.sum(axis=1), rest.argmax(axis=1), -1)


def seconds_taken(annotators: Sequence[str] | pd.Series, times: ArrayLike) -> Floats:
    """For each vote the seconds since its annotator's answer before; NaN for the first and after a break.

    Several answers of one screen have one time, and the first of them alone has a number.
    """
    table = pd.DataFrame({"who": np.asarray(annotators), "time": np.asarray(times, dtype=float)})
    screens = table.dropna().drop_duplicates().sort_values(["who", "time"], kind="stable")
    gap = screens.groupby("who")["time"].diff()
    gap = gap.where(gap <= PAUSE_S)
    return np.asarray(gap.reindex(table.index), dtype=float)


def unlike_the_others(tests: dict[str, Callable[[Flags], Floats]], annotators: int, limit: float) -> list[list[str]]:
    """For each annotator the tests that clearly fail: p < limit. A test maps the pool of the others to one p per annotator.

    The annotator with the smallest p leaves the pool first, then everything is tested anew: so one odd annotator does not make the
    mean of the others odd, and nobody is accused of differing from them. Of the last two nobody can say which one is odd.
    """
    pool = np.ones(annotators, dtype=bool)
    while True:
        found = {name: np.nan_to_num(test(pool), nan=1.0) for name, test in tests.items()}
        smallest = np.where(pool, np.min(list(found.values()), axis=0), 1.0)
        if smallest.min() >= limit or pool.sum() < min(3, annotators):
            break
        pool[smallest.argmin()] = False
    return [[name for name, p in found.items() if not pool[k] and p[k] < limit] for k in range(annotators)]


def fewer_right(right: Codes, asked: Codes, pool: Flags) -> Floats:
    """Per annotator, Fisher's exact one-sided p that they are right less often than the others of the pool together."""
    others = [(pool & (np.arange(len(right)) != k)) for k in range(len(right))]
    tables = [[[right[k], (asked - right)[k]], [right[o].sum(), (asked - right)[o].sum()]] for k, o in enumerate(others)]
    return np.array([stats.fisher_exact(table, alternative="less").pvalue for table in tables])
