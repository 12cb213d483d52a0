"""Seeded cluster bootstrap, vectorised.

A statistic that is a function of sums over units (means, ratios, kappas, win ratios) is resampled through its clusters' totals:
with W the resamples x clusters matrix of how often each cluster was drawn, all resamples are W @ totals, one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, t

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.codes import cluster_codes
from lookback.stats.estimate import Estimate

# weights kept in memory at once: about 32 MB
CHUNK_CELLS = 4_000_000
# a statistic undefined in more than this share of resamples has no honest interval
MAX_UNDEFINED = 0.05
# two clusters have three different resamples, four have 35: percentiles of so few values are no interval
FEWEST_CLUSTERS = 5
# an interval this narrow is rounding: the resamples do not vary
UNVARIED = 1e-12


def resample_weights(n_clusters: int, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Chunks (resamples x clusters) of draw counts; clusters are drawn with replacement, as many as there are."""
    rng = np.random.default_rng(seed)
    chunk = max(1, CHUNK_CELLS // n_clusters)
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        drawn = rng.integers(0, n_clusters, size=(size, n_clusters)) + np.arange(size)[:, None] * n_clusters
        yield np.bincount(drawn.ravel(), minlength=size * n_clusters).reshape(size, n_clusters).astype(float)


def cluster_totals(terms: NDArray[np.float64], clusters: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sums of the units' terms (units x k) within each cluster (clusters x k)."""
    groups = int(clusters.max()) + 1
    return np.stack([np.bincount(clusters, weights=column, minlength=groups) for column in terms.T], axis=1)


def bootstrap_totals(
    terms: NDArray[np.float64],
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    clusters: NDArray[np.int64],
    resamples: int,
    seed: int,
) -> NDArray[np.float64]:
    """Draws of a statistic of totals: `statistic` maps sums (resamples x k) to values (resamples, ...)."""
    totals = cluster_totals(terms, clusters)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.concatenate([statistic(weights @ totals) for weights in resample_weights(len(totals), resamples, seed)])


def expanded_levels(confidence: float, n_clusters: int | None) -> tuple[float, float]:
    """The two quantile levels: plain, or widened for few clusters by Phi(-sqrt(G/(G-1)) t_{alpha/2, G-1}).

    Percentile intervals of G clusters are too narrow by about as much as z is against t (Hesterberg 2015, Am. Stat. 69:371-386).
    """
    tail = 0.5 - confidence / 2
    if n_clusters is not None and n_clusters > 1:
        tail = float(norm.cdf(np.sqrt(n_clusters / (n_clusters - 1)) * t.ppf(tail, n_clusters - 1)))
    return tail, 1 - tail


def percentile_interval(draws: NDArray[np.float64], confidence: float = 0.95, n_clusters: int | None = None) -> tuple[float, float]:
    """The central `confidence` share of the draws (expanded for few clusters); undefined draws are left out while they are few."""
    defined = draws[np.isfinite(draws)]
    if len(defined) < (1 - MAX_UNDEFINED) * len(draws):
        share = 1 - len(defined) / len(draws)
        raise NotScorable(
            Reason.UNDEFINED, f"the statistic is undefined in {share:.0%} of the resamples: too little data to resample"
        )
    low, high = np.quantile(defined, expanded_levels(confidence, n_clusters))
    return float(low), float(high)


def interval_or_note(draws: NDArray[np.float64], n_clusters: int, confidence: float) -> tuple[float | None, float | None, str]:
    """(low, high, note): the expanded percentile interval, or no bounds and the sentence that says why."""
    if n_clusters < 2:
        return None, None, "one cluster only: nothing to resample, no interval"
    try:
        low, high = percentile_interval(draws, confidence, n_clusters)
    except NotScorable as missing:
        return None, None, missing.detail
    return low, high, ""


def varying_interval(draws: NDArray[np.float64], n_clusters: int, confidence: float) -> tuple[float | None, float | None, str]:
    """As `interval_or_note`, but without bounds where they would mislead: too few clusters, or resamples that are all alike."""
    low, high, note = interval_or_note(draws, n_clusters, confidence)
    if low is None or high is None:
        return low, high, note
    if n_clusters < FEWEST_CLUSTERS:
        return None, None, f"{n_clusters} clusters only: resampling needs {FEWEST_CLUSTERS}, no interval"
    if high - low <= UNVARIED:
        return None, None, "every resample gives the same value: its spread is unknown, no interval"
    return low, high, note


def method_text(resamples: int, n_clusters: int, unit: str, seed: int) -> str:
    """How a bootstrap interval was made, for an estimate's `method`."""
    return f"expanded percentile bootstrap, {resamples} resamples of {n_clusters} {unit}, seed {seed}"


def bootstrap_ci(
    values: ArrayLike,
    statistic: str | Callable[[NDArray[np.float64]], float] = "mean",
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Expanded percentile bootstrap interval of a statistic of `values` (one row per unit), resampling whole clusters.

    "mean" is vectorised; any other statistic is a function of the resampled rows ("median" is provided).

    >>> result = bootstrap_ci([1.0, 2.0, 3.0, 4.0], seed=1)
    >>> result.value, result.low < 2.5 < result.high
    (2.5, True)
    """
    data = np.asarray(values, dtype=float)
    if data.size == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no values to resample")
    if not np.isfinite(data).all():
        raise UsageError("bootstrap_ci needs finite values; drop missing ones first and report how many there were")
    if resamples < 1:
        raise UsageError(f"resamples must be at least 1, got {resamples}")
    groups = cluster_codes(clusters, len(data))
    n_groups = int(groups.max()) + 1
    value: float
    if statistic == "mean":
        if data.ndim != 1:
            raise UsageError(f"the mean is taken of one column, got values of shape {data.shape}")
        terms = np.column_stack([data, np.ones(len(data))])
        value = float(data.mean())
        draws = bootstrap_totals(terms, lambda totals: totals[:, 0] / totals[:, 1], groups, resamples, seed)
    else:
        function = _named(statistic)
        value = float(function(data))
        draws = _bootstrap_rows(data, function, groups, n_groups, resamples, seed)
    low, high, note = interval_or_note(draws, n_groups, confidence)
    se = float(np.nanstd(draws, ddof=1)) if n_groups > 1 and resamples > 1 else None
    method = method_text(resamples, n_groups, "units" if clusters is None else "clusters", seed)
    name = statistic if isinstance(statistic, str) else getattr(statistic, "__name__", "statistic")
    return Estimate(name, value, len(data), low, high, se, None, confidence, method, note)


def _named(statistic: str | Callable[..., Any]) -> Callable[..., Any]:
    if callable(statistic):
        return statistic
    if statistic == "median":
        return np.median
    raise UsageError(f"unknown statistic {statistic!r}; use 'mean', 'median' or a function of the resampled rows")


def _bootstrap_rows(
    data: NDArray[np.float64], function: Callable[..., Any], groups: NDArray[np.int64], n_groups: int, resamples: int, seed: int
) -> NDArray[np.float64]:
    members = np.split(np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups, minlength=n_groups))[:-1])
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, n_groups, size=(resamples, n_groups))
    return np.array([function(data[np.concatenate([members[g] for g in row])]) for row in drawn], dtype=float)
