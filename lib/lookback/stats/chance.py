"""Chance-corrected agreement of two or more raters, with Gwet's linearised variance; shared by AC1, AC2 and Fleiss' kappa.

With r_ik raters putting item i into category k, r_i = sum_k r_ik, and weights w:
    p_a   = mean over items with r_i >= 2 of sum_k r_ik (sum_l w_kl r_il - 1) / (r_i (r_i - 1))
    pi_k  = mean over items of r_ik / r_i
    coefficient = (p_a - p_e) / (1 - p_e)
The variance is that of the mean of the items' linearised values
    k*_i = (n/n') (p_a|i - p_e) / (1 - p_e) - 2 (1 - k) (p_e|i - p_e) / (1 - p_e)        (first term 0 where r_i < 2)
Source: Gwet (2008), Br. J. Math. Stat. Psychol. 61:29-48, and Handbook (4th ed.), ch. 5. With clusters the linearised values are
summed within clusters first (the cluster-robust form), so votes on the same scene do not count as independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from lookback.errors import NotScorable, Reason
from lookback.stats.estimate import Estimate

ZERO = 1e-12


@dataclass(frozen=True)
class ItemTerms:
    """Per item (with at least one vote): pairwise agreement (NaN under two votes) and the category shares."""

    agreement: NDArray[np.float64]
    shares: NDArray[np.float64]


def item_terms(counts: NDArray[np.float64], weights: NDArray[np.float64]) -> ItemTerms:
    """Pairwise agreement and category shares of every voted item; no item with two votes is not scorable."""
    votes = counts.sum(axis=1)
    if not (votes >= 2).any():
        raise NotScorable(Reason.TOO_FEW_VALUES, "no item has votes of two raters, so agreement cannot be observed")
    credited = counts @ weights.T
    with np.errstate(invalid="ignore", divide="ignore"):
        agreement = (counts * (credited - 1)).sum(axis=1) / (votes * (votes - 1))
        shares = counts / votes[:, None]
    agreement[votes < 2] = np.nan
    return ItemTerms(agreement, shares)


def chance_agreement(shares: NDArray[np.float64], weights: NDArray[np.float64], kind: str) -> NDArray[np.float64]:
    """p_e from mean category shares (..., q). gwet: T_w/(q(q-1)) sum pi(1-pi). fleiss: sum w_kl pi_k pi_l."""
    if kind == "gwet":
        q = weights.shape[0]
        return np.asarray(weights.sum() / (q * (q - 1)) * (shares * (1 - shares)).sum(axis=-1))
    return np.einsum("...k,kl,...l->...", shares, weights, shares)


def _item_chance(
    terms: ItemTerms, mean_shares: NDArray[np.float64], weights: NDArray[np.float64], kind: str
) -> NDArray[np.float64]:
    if kind == "gwet":
        q = weights.shape[0]
        return np.asarray(weights.sum() / (q * (q - 1)) * (terms.shares * (1 - mean_shares)).sum(axis=1))
    return np.asarray(terms.shares @ ((weights + weights.T) @ mean_shares / 2))


def chance_corrected(
    name: str,
    counts: NDArray[np.float64],
    weights: NDArray[np.float64],
    kind: str,
    clusters: NDArray[np.int64],
    confidence: float,
) -> Estimate:
    """The coefficient, its linearised standard error, t interval (upper end at most 1) and two-sided p against 0."""
    voted = counts.sum(axis=1) > 0
    counts, clusters = counts[voted], clusters[voted]
    terms = item_terms(counts, weights)
    paired = ~np.isnan(terms.agreement)
    observed = float(terms.agreement[paired].mean())
    mean_shares = terms.shares.mean(axis=0)
    expected = float(chance_agreement(mean_shares, weights, kind))
    if 1 - expected < ZERO:
        raise NotScorable(Reason.UNDEFINED, f"{name} is 0/0: every vote fell into one category, so chance agreement is 1")
    value = (observed - expected) / (1 - expected)
    n = len(counts)
    inflation = n / paired.sum()
    own = np.where(paired, inflation * (np.nan_to_num(terms.agreement) - expected) / (1 - expected), 0.0)
    linearised = own - 2 * (1 - value) * (_item_chance(terms, mean_shares, weights, kind) - expected) / (1 - expected)
    return t_interval(name, value, linearised - value, clusters, confidence, cap=1.0)


def t_interval(
    name: str,
    value: float,
    residuals: NDArray[np.float64],
    clusters: NDArray[np.int64],
    confidence: float,
    cap: float | None = None,
) -> Estimate:
    """An Estimate from linearised residuals of a mean: cluster-robust standard error, t with (clusters - 1) degrees of freedom."""
    n = len(residuals)
    sums = np.bincount(np.unique(clusters, return_inverse=True)[1], weights=residuals)
    groups = len(sums)
    what = "items" if groups == n else "clusters"
    method = f"linearised variance, t with {groups - 1} df over {groups} {what}"
    if groups < 2:
        return Estimate(name, value, n, confidence=confidence, method=method, note=f"one of {what}: no variance, no interval")
    se = float(np.sqrt(groups / (groups - 1) * (sums**2).sum()) / n)
    if se < ZERO:
        note = "the items do not vary, so the variance is zero and no interval is given"
        return Estimate(name, value, n, se=0.0, confidence=confidence, method=method, note=note)
    half = float(stats.t.ppf(0.5 + confidence / 2, groups - 1)) * se
    high = value + half if cap is None else min(cap, value + half)
    p = float(2 * stats.t.sf(abs(value / se), groups - 1))
    return Estimate(name, value, n, value - half, high, se, p, confidence, method)
