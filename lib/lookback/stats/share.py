"""A share of cases with an interval that knows which cases belong together.

Clustered cases count as fewer independent ones (Korn & Graubard 1998, Survey Methodology 24:193-201): with G clusters and V the
cluster-robust variance of the share p of n cases,
    n_effective = min(n, p (1 - p) / V) (t_{n-1} / t_{G-1})^2,
and Wilson's interval takes n_effective for n. A share of 0 or 1 has no V: there each cluster counts as one case.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t
from statsmodels.stats.proportion import proportion_confint

from lookback.errors import NotScorable, Reason
from lookback.stats.bootstrap import interval_or_note, varying_interval
from lookback.stats.codes import cluster_codes
from lookback.stats.confusion import proportion
from lookback.stats.estimate import Estimate


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
    if clusters is None or n_groups == n > 1:
        return proportion(name, int(cases.sum()), n, confidence)
    value = float(cases.mean())
    if n_groups < 2:
        return Estimate(name, value, n, confidence=confidence, note="one cluster only: nothing to resample, no interval")
    effective = _effective_cases(cases, groups, n_groups, confidence)
    low, high = wilson(value, effective, confidence)
    method = f"Wilson score interval, {n} cases in {n_groups} clusters count as {effective:.1f}"
    return Estimate(name, value, n, low, high, confidence=confidence, method=method)


def _effective_cases(cases: NDArray[np.bool_], groups: NDArray[np.int64], n_groups: int, confidence: float) -> float:
    n, value = len(cases), float(cases.mean())
    if value in (0.0, 1.0):
        return float(n_groups)
    sums = np.bincount(groups, weights=cases - value, minlength=n_groups)
    variance = n_groups / (n_groups - 1) * float((sums**2).sum()) / n**2
    tail = 0.5 + confidence / 2
    widened = (t.ppf(tail, n - 1) / t.ppf(tail, n_groups - 1)) ** 2
    return max(1.0, float(n * widened * min(1.0, value * (1 - value) / n / variance if variance > 0 else 1.0)))


def wilson(value: float, n: float, confidence: float) -> tuple[float, float]:
    """Wilson's score interval of a share of n cases; n need not be whole."""
    low, high = proportion_confint(value * n, n, alpha=1 - confidence, method="wilson")
    return float(low), float(high)


def share_interval(
    draws: NDArray[np.float64], value: float, n_clusters: int, confidence: float
) -> tuple[float | None, float | None, str]:
    """(low, high, note) of a share from its resamples; where these do not vary, Wilson's interval over the clusters.

    A share of 0 or 1 is the same in every resample, which says nothing about other clusters: each counts as one case.
    """
    low, high, note = interval_or_note(draws, n_clusters, confidence)
    if low is None or high is None:
        return low, high, note
    if high > low:
        return varying_interval(draws, n_clusters, confidence)
    return *wilson(value, n_clusters, confidence), f"the clusters do not vary: Wilson's interval over {n_clusters} clusters"
