"""Cohen's kappa for two raters (plain and weighted) and Fleiss' kappa for many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.bootstrap import bootstrap_totals, method_text, varying_interval
from lookback.stats.chance import ZERO, chance_corrected
from lookback.stats.codes import MISSING, check_categories, cluster_codes, code_labels, rating_codes, vote_counts
from lookback.stats.confusion import confusion_counts
from lookback.stats.estimate import Estimate
from lookback.stats.weights import WeightKind, agreement_weights


def cohen_kappa(
    first: ArrayLike,
    second: ArrayLike,
    categories: Sequence[Any],
    *,
    weights: WeightKind = "nominal",
    clusters: ArrayLike | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """kappa = (p_o - p_e)/(1 - p_e) of two raters' labels with each rater's own marginals; items missing a vote are left out.

    Interval from the large-sample variance, p from the variance under independence (Fleiss, Cohen & Everitt 1969), as computed
    by statsmodels. Where `clusters` put items together, the interval resamples clusters and there is no p.
    """
    declared = check_categories(categories)
    a, b = code_labels(first, declared), code_labels(second, declared)
    if a.ndim != 1 or a.shape != b.shape:
        raise UsageError(f"the two raters must label the same items: shapes {a.shape} and {b.shape}")
    both = (a != MISSING) & (b != MISSING)
    n = int(both.sum())
    if n == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no item was labelled by both raters")
    table = confusion_counts(a[both], b[both], len(declared))
    credit = agreement_weights(declared, weights)
    expected = float((np.outer(table.sum(axis=1), table.sum(axis=0)) * credit).sum()) / n**2
    if 1 - expected < ZERO:
        raise NotScorable(Reason.UNDEFINED, "Cohen's kappa is 0/0: both raters used one and the same category throughout")
    name = "Cohen's kappa" if weights == "nominal" else f"Cohen's kappa ({weights})"
    groups = cluster_codes(clusters, len(a))[both]
    if len(np.unique(groups)) < n:
        cells = np.eye(len(declared) ** 2)[a[both] * len(declared) + b[both]]
        return resampled_kappa(name, cells, credit, np.unique(groups, return_inverse=True)[1], resamples, confidence, seed)
    # statsmodels divides by zero where a marginal is empty in every cell; the value itself stays defined
    with np.errstate(invalid="ignore", divide="ignore"):
        result = cohens_kappa(table, weights=None if weights == "nominal" else (1 - credit))
    value, variance, null_variance = float(result.kappa), float(result.var_kappa), float(result.var_kappa0)
    method = "large-sample variance (Fleiss, Cohen & Everitt 1969)"
    if not variance > ZERO:
        note = "perfect agreement or too few items: the large-sample variance is zero and no interval is given"
        return Estimate(name, value, n, confidence=confidence, method=method, note=note)
    se = float(np.sqrt(variance))
    half = float(stats.norm.ppf(0.5 + confidence / 2)) * se
    p = float(2 * stats.norm.sf(abs(value) / np.sqrt(null_variance))) if null_variance > ZERO else None
    return Estimate(name, value, n, max(-1.0, value - half), min(1.0, value + half), se, p, confidence, method)


def resampled_kappa(
    name: str,
    cells: NDArray[np.float64],
    credit: NDArray[np.float64],
    groups: NDArray[np.int64],
    resamples: int,
    confidence: float,
    seed: int,
) -> Estimate:
    """Cohen's kappa of items x (q q) one-hot cells, its interval by resampling clusters."""
    q = len(credit)

    def statistic(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        tables = totals.reshape(-1, q, q)
        n = tables.sum(axis=(1, 2))
        observed = (tables * credit).sum(axis=(1, 2)) / n
        expected = np.einsum("bk,kl,bl->b", tables.sum(axis=2), credit, tables.sum(axis=1)) / n**2
        return np.where(1 - expected > ZERO, (observed - expected) / np.where(1 - expected > ZERO, 1 - expected, 1), np.nan)

    value = float(statistic(cells.sum(axis=0)[None])[0])
    if not np.isfinite(value):
        raise NotScorable(Reason.UNDEFINED, f"{name} is 0/0: one and the same answer is used throughout")
    n_groups = int(groups.max()) + 1
    low, high, note = varying_interval(bootstrap_totals(cells, statistic, groups, resamples, seed), n_groups, confidence)
    method = method_text(resamples, n_groups, "clusters", seed)
    return Estimate(name, value, len(cells), low, high, confidence=confidence, method=method, note=note)


def fleiss_kappa(
    ratings: pd.DataFrame | ArrayLike,
    categories: Sequence[Any],
    *,
    weights: WeightKind = "nominal",
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Fleiss' kappa of items x raters, with missing votes: p_e = sum_kl w_kl pi_k pi_l (Fleiss 1971; Gwet's variance)."""
    declared = check_categories(categories)
    codes = rating_codes(ratings, declared)
    name = "Fleiss' kappa" if weights == "nominal" else f"Fleiss' kappa ({weights})"
    matrix = agreement_weights(declared, weights)
    groups = cluster_codes(clusters, len(codes))
    return chance_corrected(name, vote_counts(codes, len(declared)), matrix, "fleiss", groups, confidence)
