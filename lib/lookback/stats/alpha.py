"""Krippendorff's alpha (nominal, ordinal, interval) with a cluster-bootstrap interval.

alpha = 1 - D_o/D_e on the coincidence matrix o_kl = sum over items of r_ik (r_il - [k=l]) / (r_i - 1), items with r_i >= 2:
D_o = sum o_kl d_kl, D_e = sum n_k (n_l - [k=l]) d_kl / (n - 1). The coincidences are sums over items, so the bootstrap needs one
matrix product. Source: Krippendorff, Computing alpha-reliability (2011); held to the krippendorff package in the tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.bootstrap import bootstrap_totals, method_text, varying_interval
from lookback.stats.codes import category_values, check_categories, cluster_codes, rating_codes, vote_counts
from lookback.stats.estimate import Estimate

Level = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(
    ratings: pd.DataFrame | ArrayLike,
    categories: Sequence[Any],
    *,
    level: Level = "nominal",
    clusters: ArrayLike | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Alpha of items x raters with missing votes; `categories` in their order for ordinal, as numbers for interval."""
    declared = check_categories(categories)
    if level not in get_args(Level):
        raise UsageError(f"unknown level {level!r}; choose one of {', '.join(get_args(Level))}")
    codes = rating_codes(ratings, declared)
    counts = vote_counts(codes, len(declared))
    paired = counts.sum(axis=1) >= 2
    if not paired.any():
        raise NotScorable(Reason.TOO_FEW_VALUES, "no item has votes of two raters, so agreement cannot be observed")
    terms = _coincidences(counts[paired])
    points = category_values(declared)
    value = float(_alpha(terms.sum(axis=0)[None], points, level)[0])
    if not np.isfinite(value):
        raise NotScorable(Reason.UNDEFINED, "alpha is 0/0: every paired vote fell into one category")
    groups = np.unique(cluster_codes(clusters, len(codes))[paired], return_inverse=True)[1]
    n_groups = int(groups.max()) + 1
    draws = bootstrap_totals(terms, lambda totals: _alpha(totals, points, level), groups, resamples, seed)
    low, high, note = varying_interval(draws, n_groups, confidence)
    method = method_text(resamples, n_groups, "items" if clusters is None else "clusters", seed)
    return Estimate(
        f"Krippendorff's alpha ({level})", value, int(paired.sum()), low, high, confidence=confidence, method=method, note=note
    )


def _coincidences(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    q = counts.shape[1]
    pairs = counts[:, :, None] * (counts[:, None, :] - np.eye(q))
    return (pairs / (counts.sum(axis=1) - 1)[:, None, None]).reshape(len(counts), q * q)


def _alpha(totals: NDArray[np.float64], points: NDArray[np.float64], level: str) -> NDArray[np.float64]:
    q = len(points)
    observed = totals.reshape(-1, q, q)
    marginals = observed.sum(axis=2)
    distance = _distances(marginals, points, level)
    expected = marginals[:, :, None] * (marginals[:, None, :] - np.eye(q))
    total = marginals.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return 1 - (total - 1) * (observed * distance).sum(axis=(1, 2)) / (expected * distance).sum(axis=(1, 2))


def _distances(marginals: NDArray[np.float64], points: NDArray[np.float64], level: str) -> NDArray[np.float64]:
    """Squared distances (resamples x q x q); the ordinal one counts the votes between two ranks, so it follows the resample."""
    q = len(points)
    if level == "nominal":
        return np.broadcast_to(1 - np.eye(q), (len(marginals), q, q))
    if level == "interval":
        return np.broadcast_to(np.subtract.outer(points, points) ** 2, (len(marginals), q, q))
    middle = np.cumsum(marginals, axis=1) - marginals / 2
    return (middle[:, :, None] - middle[:, None, :]) ** 2
