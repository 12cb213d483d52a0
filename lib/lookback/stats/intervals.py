"""Estimates and their intervals: cluster bootstrap, Wilson's interval, clustered shares.

Bootstrap: a statistic that is a function of sums over units (means, ratios, kappas, win ratios) is resampled through the totals
of its clusters. With W the resamples x clusters matrix of how often each cluster was drawn, all resamples are W @ totals.
Under ten clusters G, the percentiles of so few distinct resamples end too early. There the interval is t with G - 1 degrees of
freedom around the value; its standard error is that of the resamples times sqrt(G / (G - 1)), which gives the usual t interval of a
mean. A bounded statistic takes it on the logit scale between its bounds (delta method).

Shares: cases of one cluster count as fewer independent ones (Korn & Graubard 1998, Survey Methodology 24:193-201). With G
clusters and V the cluster-robust variance of the share p of n cases,
    n_effective = min(n, p (1 - p) / V) (t_{n-1} / t_{G-1})^2,
and Wilson's interval takes n_effective for n. A share of 0 or 1 has no V: there each cluster counts as one case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from scipy.stats import norm, t
from statsmodels.stats.proportion import proportion_confint

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.ratings import Codes, Flags, Floats, cluster_codes

# weights kept in memory at once: about 32 MB
CHUNK_CELLS = 4_000_000
# no interval when the statistic is undefined in more than this share of the resamples
MAX_UNDEFINED = 0.05
# the floor of every interval over clusters: one cluster shows no spread
FEWEST_CLUSTERS = 2
# resamples beyond each end of an interval, at least; and the most that are drawn for their sake
BEYOND, MOST_RESAMPLES = 5, 20_000
# an interval this narrow, beside 1 or its bounds where they are larger, is rounding: the resamples do not vary
UNVARIED = 1e-12
# percentiles of resamples from this many clusters on; below, the interval is t
FEWEST_FOR_PERCENTILES = 10
Bounds = tuple[float, float]
CORRELATION: Bounds = (-1.0, 1.0)
SHARE: Bounds = (0.0, 1.0)
UNBOUNDED: Bounds = (-np.inf, np.inf)
ALIKE = "every resample gives the same value: its spread is unknown, no interval"


@dataclass(frozen=True)
class Estimate:
    """A point estimate with its interval; `low`, `high`, `se`, `p` are None where they do not exist, and `note` says why.

    `n` counts the units the estimate rests on (items, pairs, models), never the votes.
    """

    name: str
    value: float
    n: int
    low: float | None = None
    high: float | None = None
    se: float | None = None
    p: float | None = None
    confidence: float = 0.95
    method: str = ""
    note: str = ""

    def __float__(self) -> float:
        return self.value

    def as_row(self) -> dict[str, object]:
        """The fields as one table row."""
        return asdict(self)


def proportion(name: str, hits: int, n: int, confidence: float = 0.95) -> Estimate:
    """hits/n with Wilson's score interval (Wilson 1927), which stays inside [0, 1] and works at 0 and n."""
    if n == 0:
        raise NotScorable(Reason.UNDEFINED, f"{name} is 0/0: no case to count")
    low, high = wilson(hits / n, n, confidence)
    return Estimate(name, hits / n, n, low, high, confidence=confidence, method="Wilson score interval")


def resample_weights(n_clusters: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Chunks (resamples x clusters) of draw counts; clusters are drawn with replacement, as many as there are."""
    rng = np.random.default_rng(seed)
    chunk = max(1, CHUNK_CELLS // n_clusters)
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        drawn = rng.integers(0, n_clusters, size=(size, n_clusters)) + np.arange(size)[:, None] * n_clusters
        yield np.bincount(drawn.ravel(), minlength=size * n_clusters).reshape(size, n_clusters).astype(float)


def cluster_totals(terms: Floats, clusters: Codes) -> Floats:
    """Sums of the units' terms (units x k) within each cluster (clusters x k)."""
    groups = int(clusters.max()) + 1
    return np.stack([np.bincount(clusters, weights=column, minlength=groups) for column in terms.T], axis=1)


def bootstrap_totals(
    terms: Floats,
    statistic: Callable[[Floats], Floats],
    clusters: Codes,
    resamples: int,
    seed: int,
) -> Floats:
    """Draws of a statistic of totals: `statistic` maps sums (resamples x k) to values (resamples, ...)."""
    totals = cluster_totals(terms, clusters)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.concatenate([statistic(weights @ totals) for weights in resample_weights(len(totals), resamples, seed)])


@cache
def expanded_levels(confidence: float, n_clusters: int | None) -> tuple[float, float]:
    """The two quantile levels: plain, or widened for few clusters by Phi(-sqrt(G/(G-1)) t_{alpha/2, G-1}).

    Percentile intervals of G clusters are too narrow by about as much as z is against t (Hesterberg 2015, Am. Stat. 69:371-386).
    """
    tail = 0.5 - confidence / 2
    if n_clusters is not None and n_clusters > 1:
        tail = float(norm.cdf(np.sqrt(n_clusters / (n_clusters - 1)) * t.ppf(tail, n_clusters - 1)))
    return tail, 1 - tail


def enough_resamples(resamples: int, n_clusters: int, confidence: float) -> int:
    """The resamples to draw: as many as asked for, and so many that a few lie beyond each end of an interval by percentiles."""
    if n_clusters < FEWEST_FOR_PERCENTILES:
        return resamples
    needed = np.ceil(BEYOND / expanded_levels(confidence, n_clusters)[0])
    return max(resamples, int(min(needed, MOST_RESAMPLES)))


def percentile_interval(draws: Floats, confidence: float = 0.95, n_clusters: int | None = None) -> tuple[float, float]:
    """The central `confidence` share of the draws (expanded for few clusters); undefined draws are left out while they are few."""
    defined = draws[np.isfinite(draws)]
    if len(defined) < (1 - MAX_UNDEFINED) * len(draws):
        share = 1 - len(defined) / len(draws)
        raise NotScorable(
            Reason.UNDEFINED, f"the statistic is undefined in {share:.0%} of the resamples: too little data to resample"
        )
    low, high = np.quantile(defined, expanded_levels(confidence, n_clusters))
    return float(low), float(high)


def too_few_clusters(n_clusters: int, unit: str = "cluster") -> str:
    """Why so few clusters have no interval and support no claim; empty where they are enough."""
    return f"one {unit} only: nothing to resample, no interval" if n_clusters < FEWEST_CLUSTERS else ""


def t_bounds(value: float, se: float, df: float, confidence: float, bounds: Bounds = CORRELATION) -> Bounds:
    """The t interval of a value; between two bounds on the scale log((x - least) / (most - x)), so that it stays inside."""
    half = float(t.ppf(0.5 + confidence / 2, df)) * se
    least, most = bounds
    width = most - least
    if np.isinf(width):
        return max(least, value - half), min(most, value + half)
    part = np.clip((value - least) / width, UNVARIED, 1 - UNVARIED)
    reach = half / width / (part * (1 - part))
    return least + width * float(expit(logit(part) - reach)), least + width * float(expit(logit(part) + reach))


def varying_interval(
    draws: Floats, value: float, n_clusters: int, confidence: float, bounds: Bounds = CORRELATION
) -> tuple[float | None, float | None, str]:
    """(low, high, note) of a value from its resamples, or no bounds and the sentence that says why.

    Percentiles, or t where clusters are few (`bounds`: what the statistic can be). No bounds where all resamples are alike: they
    would mislead.
    """
    if note := too_few_clusters(n_clusters):
        return None, None, note
    try:
        low, high = percentile_interval(draws, confidence, n_clusters)
    except NotScorable as missing:
        return None, None, missing.detail
    if high - low <= UNVARIED * max(1.0, abs(low), abs(high)):
        return None, None, ALIKE
    if n_clusters < FEWEST_FOR_PERCENTILES:
        se = float(np.nanstd(draws) * np.sqrt(n_clusters / (n_clusters - 1)))
        low, high = t_bounds(value, se, n_clusters - 1, confidence, bounds)
    return low, high, ""


def method_text(resamples: int, n_clusters: int, unit: str, seed: int) -> str:
    """How a bootstrap interval was made, for an estimate's `method`."""
    few = n_clusters < FEWEST_FOR_PERCENTILES
    kind = f"bootstrap standard error, t with {n_clusters - 1} df" if few else "expanded percentile bootstrap"
    return f"{kind}, {resamples} resamples of {n_clusters} {unit}, seed {seed}"


def bootstrap_ci(
    values: ArrayLike,
    statistic: str | Callable[[Floats], float] = "mean",
    *,
    clusters: ArrayLike | None = None,
    bounds: Bounds = UNBOUNDED,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Bootstrap interval of a statistic of `values` (one row per unit), resampling whole clusters; t where they are few.

    There is none where all resamples give the same value. `bounds` are the least and largest value that the statistic can have.

    "mean" is vectorised; any other statistic is a function of the resampled rows ("median" is provided).

    >>> result = bootstrap_ci([1.0, 2.0, 3.0, 4.0, 5.0], seed=1)
    >>> result.value, result.low < 3.0 < result.high
    (3.0, True)
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
    resamples = enough_resamples(resamples, n_groups, confidence)
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
    low, high, note = varying_interval(draws, value, n_groups, confidence, bounds)
    se = float(np.nanstd(draws, ddof=1)) if note == "" and resamples > 1 else None
    method = method_text(resamples, n_groups, "units" if clusters is None else "clusters", seed)
    name = statistic if isinstance(statistic, str) else getattr(statistic, "__name__", "statistic")
    return Estimate(name, value, len(data), low, high, se, None, confidence, method, note)


def _named(statistic: str | Callable[[Floats], float]) -> Callable[[Floats], float]:
    if callable(statistic):
        return statistic
    if statistic == "median":
        return lambda rows: float(np.median(rows))
    raise UsageError(f"unknown statistic {statistic!r}; use 'mean', 'median' or a function of the resampled rows")


def _bootstrap_rows(
    data: Floats, function: Callable[[Floats], float], groups: Codes, n_groups: int, resamples: int, seed: int
) -> Floats:
    members = np.split(np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups, minlength=n_groups))[:-1])
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, n_groups, size=(resamples, n_groups))
    return np.array([function(data[np.concatenate([members[g] for g in row])]) for row in drawn], dtype=float)


def share(name: str, hits: ArrayLike, clusters: ArrayLike | None = None, *, confidence: float = 0.95) -> Estimate:
    """Share of true `hits`, with Wilson's interval over the cases or, where clusters hold several, over the effective cases.

    >>> share("found", [True, True, True, False]).value
    0.75
    """
    cases = np.asarray(hits, dtype=bool)
    n = len(cases)
    if n == 0:
        raise NotScorable(Reason.UNDEFINED, f"{name} is 0/0: no case to count")
    groups = cluster_codes(clusters, n)
    n_groups = int(groups.max()) + 1
    value = float(cases.mean())
    if clusters is not None and (note := too_few_clusters(n_groups)):
        return Estimate(name, value, n, confidence=confidence, note=note)
    if n_groups == n:
        return proportion(name, int(cases.sum()), n, confidence)
    effective = _effective_cases(cases, groups, n_groups, confidence)
    low, high = wilson(value, effective, confidence)
    method = f"Wilson score interval, {n} cases in {n_groups} clusters count as {effective:.1f}"
    return Estimate(name, value, n, low, high, confidence=confidence, method=method)


def _effective_cases(cases: Flags, groups: Codes, n_groups: int, confidence: float) -> float:
    n, value = len(cases), float(cases.mean())
    if value in (0.0, 1.0):
        return float(n_groups)
    sums = np.bincount(groups, weights=cases - value, minlength=n_groups)
    variance = n_groups / (n_groups - 1) * float((sums**2).sum()) / n**2
    tail = 0.5 + confidence / 2
    widened = (t.ppf(tail, n - 1) / t.ppf(tail, n_groups - 1)) ** 2
    return max(1.0, float(n * widened * min(1.0, value * (1 - value) / n / variance if variance > 0 else 1.0)))


def wilson(value: float, n: float, confidence: float) -> tuple[float, float]:
    """Wilson's score interval of a share of n cases; n need not be whole. It always holds the share itself, rounding or not."""
    low, high = proportion_confint(value * n, n, alpha=1 - confidence, method="wilson")
    return min(float(low), value), max(float(high), value)


def share_interval(draws: Floats, value: float, n_clusters: int, confidence: float) -> tuple[float | None, float | None, str]:
    """(low, high, note) of a share from its resamples; where these do not vary, Wilson's interval over the clusters.

    A share of 0 or 1 is the same in every resample, which says nothing about other clusters: each counts as one case.
    """
    low, high, note = varying_interval(draws, value, n_clusters, confidence, SHARE)
    if note != ALIKE:
        return low, high, note
    return *wilson(value, n_clusters, confidence), f"the clusters do not vary: Wilson's interval over {n_clusters} clusters"


def number(value: float | None) -> float:
    """A value for a table: NaN where there is none."""
    return np.nan if value is None else value


def measure_row(estimate: Callable[[], Estimate], measure: str, *, tested: bool = False) -> dict[str, object]:
    """A tidy row: measure, value, low, high, n, reason, and p where it is `tested`; what has no value or bounds says why."""
    row: dict[str, object] = {"measure": measure, "value": np.nan, "low": np.nan, "high": np.nan, "n": 0, "reason": ""}
    row |= {"p": np.nan} if tested else {}
    try:
        result = estimate()
    except NotScorable as missing:
        return row | {"reason": str(missing)}
    row |= {"value": result.value, "low": number(result.low), "high": number(result.high), "n": result.n, "reason": result.note}
    return row | ({"p": number(result.p)} if tested else {})
