"""Agreement of raters: percent agreement, Gwet's AC1 and AC2, Cohen's and Fleiss' kappa, Krippendorff's alpha.

AC1, AC2 and Fleiss' kappa share one form. With r_ik raters putting item i into category k, r_i = sum_k r_ik, and weights w:
    p_a   = mean over items with r_i >= 2 of sum_k r_ik (sum_l w_kl r_il - 1) / (r_i (r_i - 1))
    pi_k  = mean over items of r_ik / r_i
    coefficient = (p_a - p_e) / (1 - p_e)
    p_e   = sum_kl w_kl / (q (q - 1)) sum_k pi_k (1 - pi_k) (Gwet),  sum_kl w_kl pi_k pi_l (Fleiss)
The variance is that of the mean of the items' linearised values
    k*_i = (n/n') (p_a|i - p_e) / (1 - p_e) - 2 (1 - k) (p_e|i - p_e) / (1 - p_e)        (first term 0 where r_i < 2)
With clusters the linearised values are summed within clusters first, so votes on the same scene do not count as independent.
Intervals are t intervals on the logit scale between -1 and 1 (shares: 0 and 1), since near 1 symmetric ones end too low. Where all
votes on every item agree, that variance is zero; the lower end is then that of Wilson's interval for p_a, each cluster one case.
Source: Gwet (2008), Br. J. Math. Stat. Psychol. 61:29-48, and Handbook of Inter-Rater Reliability (4th ed.), ch. 3 and 5.

Krippendorff's alpha = 1 - D_o/D_e on the coincidences o_kl = sum over items of r_ik (r_il - [k=l]) / (r_i - 1), r_i >= 2:
D_o = sum o_kl d_kl, D_e = sum n_k (n_l - [k=l]) d_kl / (n - 1). Source: Krippendorff, Computing alpha-reliability (2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

from lookback.errors import NotScorable, Reason, UsageError
from lookback.names import counted
from lookback.stats.intervals import (
    CORRELATION,
    SHARE,
    Bounds,
    Estimate,
    bootstrap_totals,
    enough_resamples,
    method_text,
    t_bounds,
    too_few_clusters,
    varying_interval,
    wilson,
)
from lookback.stats.jackknife import FEWEST_ANNOTATORS, jackknife_variance
from lookback.stats.ratings import (
    MISSING,
    Codes,
    Floats,
    Label,
    Ratings,
    category_values,
    check_categories,
    cluster_codes,
    code_labels,
    confusion_counts,
    rating_codes,
    vote_counts,
)

WeightKind = Literal["nominal", "ordinal", "linear", "quadratic"]
ZERO = 1e-12
Level = Literal["nominal", "ordinal", "interval"]


def agreement_weights(categories: Sequence[Label], kind: WeightKind) -> Floats:
    """The q x q weights of `kind` for the declared (ordered) categories.

    nominal: 1 on the diagonal. ordinal: 1 - C(|k-l|+1, 2) / C(q, 2), ranks only. linear: 1 - |x_k-x_l|/(max-min).
    quadratic: 1 - (x_k-x_l)^2/(max-min)^2, where x are the categories' numbers (or ranks when they are words).
    """
    declared = check_categories(categories)
    q = len(declared)
    if kind == "nominal":
        return np.eye(q)
    if kind == "ordinal":
        distance = np.abs(np.subtract.outer(np.arange(q), np.arange(q)))
        return np.asarray(1.0 - distance * (distance + 1) / (q * (q - 1)))
    if kind not in get_args(WeightKind):
        raise UsageError(f"unknown weights {kind!r}; choose one of {', '.join(get_args(WeightKind))}")
    x = category_values(declared)
    gap = np.abs(np.subtract.outer(x, x)) / (x.max() - x.min())
    return np.asarray(1.0 - (gap if kind == "linear" else gap**2))


@dataclass(frozen=True)
class ItemTerms:
    """Per item (with at least one vote): pairwise agreement (NaN under two votes) and the category shares."""

    agreement: Floats
    shares: Floats


def item_terms(counts: Floats, weights: Floats) -> ItemTerms:
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


def _counted(
    ratings: Ratings, categories: Sequence[Label], weights: WeightKind, clusters: ArrayLike | None
) -> tuple[Floats, Floats, Codes]:
    """Votes per item and category, the weights between categories, and the cluster of each item."""
    declared = check_categories(categories)
    codes = rating_codes(ratings, declared)
    return vote_counts(codes, len(declared)), agreement_weights(declared, weights), cluster_codes(clusters, len(codes))


def chance_agreement(shares: Floats, weights: Floats, kind: str) -> Floats:
    """p_e from mean category shares (..., q). gwet: T_w/(q(q-1)) sum pi(1-pi). fleiss: sum w_kl pi_k pi_l."""
    if kind == "gwet":
        q = weights.shape[0]
        return np.asarray(weights.sum() / (q * (q - 1)) * (shares * (1 - shares)).sum(axis=-1))
    return np.asarray(np.einsum("...k,kl,...l->...", shares, weights, shares))


def _item_chance(terms: ItemTerms, mean_shares: Floats, weights: Floats, kind: str) -> Floats:
    if kind == "gwet":
        q = weights.shape[0]
        return np.asarray(weights.sum() / (q * (q - 1)) * (terms.shares * (1 - mean_shares)).sum(axis=1))
    return np.asarray(terms.shares @ ((weights + weights.T) @ mean_shares / 2))


def chance_corrected(
    name: str,
    kind: Literal["gwet", "fleiss"],
    ratings: Ratings,
    categories: Sequence[Label],
    weights: WeightKind,
    clusters: ArrayLike | None,
    confidence: float,
) -> Estimate:
    """The coefficient, its linearised standard error, its interval and two-sided p against 0."""
    counts, credit, groups = _counted(ratings, categories, weights, clusters)
    voted = counts.sum(axis=1) > 0
    counts, groups = counts[voted], groups[voted]
    terms = item_terms(counts, credit)
    paired = ~np.isnan(terms.agreement)
    observed = float(terms.agreement[paired].mean())
    mean_shares = terms.shares.mean(axis=0)
    expected = float(chance_agreement(mean_shares, credit, kind))
    if 1 - expected < ZERO:
        raise NotScorable(Reason.UNDEFINED, f"{name} is 0/0: every vote fell into one category, so chance agreement is 1")
    value = (observed - expected) / (1 - expected)
    n = len(counts)
    inflation = n / paired.sum()
    own = np.where(paired, inflation * (np.nan_to_num(terms.agreement) - expected) / (1 - expected), 0.0)
    linearised = own - 2 * (1 - value) * (_item_chance(terms, mean_shares, credit, kind) - expected) / (1 - expected)
    if observed > 1 - ZERO:
        return unanimous(name, n, expected, groups[paired], confidence)
    return t_interval(name, value, linearised - value, groups, confidence)


def t_interval(
    name: str,
    value: float,
    residuals: Floats,
    clusters: Codes,
    confidence: float,
    bounds: Bounds = CORRELATION,
) -> Estimate:
    """From linearised residuals of a mean: cluster-robust standard error, t with (clusters - 1) degrees of freedom."""
    n = len(residuals)
    sums = np.bincount(np.unique(clusters, return_inverse=True)[1], weights=residuals)
    groups = len(sums)
    what = "items" if groups == n else "clusters"
    method = f"linearised variance, t with {groups - 1} df over {groups} {what}"
    if note := too_few_clusters(groups, what.removesuffix("s")):
        return Estimate(name, value, n, confidence=confidence, method=method, note=note)
    se = float(np.sqrt(groups / (groups - 1) * (sums**2).sum()) / n)
    if se < ZERO:
        note = "the items do not vary, so the variance is zero and no interval is given"
        return Estimate(name, value, n, se=0.0, confidence=confidence, method=method, note=note)
    low, high = t_bounds(value, se, groups - 1, confidence, bounds)
    p = float(2 * stats.t.sf(abs(value / se), groups - 1))
    return Estimate(name, value, n, low, high, se, p, confidence, method)


def unanimous(name: str, n: int, expected: float, clusters: Codes, confidence: float) -> Estimate:
    """The coefficient 1 of votes that never differ, with the lower end of Wilson's interval for p_a over the clusters."""
    groups = len(np.unique(clusters))
    if note := too_few_clusters(groups):
        return Estimate(name, 1.0, n, confidence=confidence, note=note)
    low = max(-1.0, (wilson(1.0, groups, confidence)[0] - expected) / (1 - expected))
    note = f"all votes on every item agree: the lower end is Wilson's, each of {groups} clusters one case"
    return Estimate(name, 1.0, n, low, 1.0, confidence=confidence, method="Wilson score interval", note=note)


def percent_agreement(
    ratings: Ratings,
    categories: Sequence[Label],
    *,
    weights: WeightKind = "nominal",
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """p_a = mean over items with two or more votes of the (weighted) share of agreeing rater pairs, as a fraction."""
    counts, credit, groups = _counted(ratings, categories, weights, clusters)
    terms = item_terms(counts, credit)
    paired = ~np.isnan(terms.agreement)
    value = float(terms.agreement[paired].mean())
    if value > 1 - ZERO:
        return unanimous("percent agreement", int(paired.sum()), 0.0, groups[paired], confidence)
    estimate = t_interval("percent agreement", value, terms.agreement[paired] - value, groups[paired], confidence, SHARE)
    return replace(estimate, p=None)


def gwet_ac1(
    ratings: Ratings, categories: Sequence[Label], *, clusters: ArrayLike | None = None, confidence: float = 0.95
) -> Estimate:
    """AC1 = (p_a - p_e)/(1 - p_e) with p_e = sum_k pi_k (1 - pi_k) / (q - 1).

    `ratings` is items x raters with NaN/None where a vote is missing, `categories` the declared scale, `clusters` one label per
    item. All raters in one category give 1. Source: Gwet (2008), eq. 4 and 36; held to irrCAC in the tests.

    >>> round(gwet_ac1([[1, 1], [1, 1], [1, 0], [0, 0]], [0, 1]).value, 4)
    0.5294
    """
    return gwet_ac2(ratings, categories, weights="nominal", clusters=clusters, confidence=confidence)


def gwet_ac2(
    ratings: Ratings,
    categories: Sequence[Label],
    *,
    weights: WeightKind = "ordinal",
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """AC2: AC1 with partial credit for near labels; `weights` is ordinal, linear, quadratic (or nominal, which is AC1)."""
    name = "AC1" if weights == "nominal" else f"AC2 ({weights})"
    return chance_corrected(name, "gwet", ratings, categories, weights, clusters, confidence)


def gwet_other_raters(
    ratings: Ratings,
    categories: Sequence[Label],
    *,
    weights: WeightKind = "nominal",
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """AC1 or AC2 with the raters (columns) as a sample too: what other raters like these would reach on other items.

    The variance over the items plus that from leaving out one rater at a time (Gwet 2008, section 4: unconditional variance); t
    with one degree of freedom less than there are clusters or raters, whichever are fewer. Needs five raters.
    """
    declared = check_categories(categories)
    codes, credit = rating_codes(ratings, declared), agreement_weights(declared, weights)
    codes = codes[:, (codes != MISSING).any(axis=0)]
    count = codes.shape[1]
    if count < FEWEST_ANNOTATORS:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"{counted(count, 'annotator')}: fewer than five cannot speak for others")
    found = gwet_ac2(ratings, categories, weights=weights, clusters=clusters, confidence=confidence)
    if not found.se:
        return replace(found, low=None, high=None, note="nothing varies: what other annotators would say is not known")
    counts = vote_counts(codes, len(declared))
    without = [_gwet(counts - (own[:, None] == np.arange(len(declared))), credit) for own in codes.T]
    se = float(np.sqrt(found.se**2 + jackknife_variance(np.array(without))))
    df = min(len(np.unique(cluster_codes(clusters, len(codes))[counts.any(axis=1)])), count) - 1
    low, high = t_bounds(found.value, se, df, confidence)
    method = f"linearised variance over items, jackknife over {count} raters, t with {df} df"
    return replace(found, low=low, high=high, se=se, p=None, method=method)


def _gwet(counts: Floats, credit: Floats) -> float:
    terms = item_terms(counts[counts.any(axis=1)], credit)
    expected = float(chance_agreement(terms.shares.mean(axis=0), credit, "gwet"))
    return (float(np.nanmean(terms.agreement)) - expected) / (1 - expected)


def cohen_kappa(
    first: ArrayLike,
    second: ArrayLike,
    categories: Sequence[Label],
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
    if note := too_few_clusters(n, "item"):
        return Estimate(name, _kappa_value(table, credit, expected), n, confidence=confidence, note=note)
    # statsmodels divides by zero where a marginal is empty in every cell; the value itself stays defined
    with np.errstate(invalid="ignore", divide="ignore"):
        result = cohens_kappa(table, weights=None if weights == "nominal" else (1 - credit))
    value, variance, null_variance = float(result.kappa), float(result.var_kappa), float(result.var_kappa0)
    method = "large-sample variance (Fleiss, Cohen & Everitt 1969)"
    if not variance > ZERO:
        note = "perfect agreement or too few items: the large-sample variance is zero and no interval is given"
        return Estimate(name, value, n, confidence=confidence, method=method, note=note)
    se = float(np.sqrt(variance))
    low, high = t_bounds(value, se, np.inf, confidence)
    p = float(2 * stats.norm.sf(abs(value) / np.sqrt(null_variance))) if null_variance > ZERO else None
    return Estimate(name, value, n, low, high, se, p, confidence, method)


def _kappa_value(table: Codes, credit: Floats, expected: float) -> float:
    return (float((table * credit).sum()) / float(table.sum()) - expected) / (1 - expected)


def resampled_kappa(
    name: str,
    cells: Floats,
    credit: Floats,
    groups: Codes,
    resamples: int,
    confidence: float,
    seed: int,
) -> Estimate:
    """Cohen's kappa of items x (q q) one-hot cells, its interval by resampling clusters."""
    q = len(credit)

    def statistic(totals: Floats) -> Floats:
        tables = totals.reshape(-1, q, q)
        n = tables.sum(axis=(1, 2))
        observed = (tables * credit).sum(axis=(1, 2)) / n
        expected = np.einsum("bk,kl,bl->b", tables.sum(axis=2), credit, tables.sum(axis=1)) / n**2
        return np.where(1 - expected > ZERO, (observed - expected) / np.where(1 - expected > ZERO, 1 - expected, 1), np.nan)

    value = float(statistic(cells.sum(axis=0)[None])[0])
    if not np.isfinite(value):
        raise NotScorable(Reason.UNDEFINED, f"{name} is 0/0: one and the same answer is used throughout")
    n_groups = int(groups.max()) + 1
    resamples = enough_resamples(resamples, n_groups, confidence)
    draws = bootstrap_totals(cells, statistic, groups, resamples, seed)
    low, high, note = varying_interval(draws, value, n_groups, confidence)
    method = method_text(resamples, n_groups, "clusters", seed)
    return Estimate(name, value, len(cells), low, high, confidence=confidence, method=method, note=note)


def fleiss_kappa(
    ratings: Ratings,
    categories: Sequence[Label],
    *,
    weights: WeightKind = "nominal",
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Fleiss' kappa of items x raters, with missing votes: p_e = sum_kl w_kl pi_k pi_l (Fleiss 1971; Gwet's variance)."""
    name = "Fleiss' kappa" if weights == "nominal" else f"Fleiss' kappa ({weights})"
    return chance_corrected(name, "fleiss", ratings, categories, weights, clusters, confidence)


def krippendorff_alpha(
    ratings: Ratings,
    categories: Sequence[Label],
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
    name = f"Krippendorff's alpha ({level})"
    if value > 1 - ZERO:  # a pair that differs would lie as far apart as two different answers do on average
        shares = counts[paired].sum(axis=0) / counts[paired].sum()
        return unanimous(name, int(paired.sum()), float((shares**2).sum()), groups, confidence)
    n_groups = int(groups.max()) + 1
    resamples = enough_resamples(resamples, n_groups, confidence)
    draws = bootstrap_totals(terms, lambda totals: _alpha(totals, points, level), groups, resamples, seed)
    low, high, note = varying_interval(draws, value, n_groups, confidence)
    method = method_text(resamples, n_groups, "items" if clusters is None else "clusters", seed)
    return Estimate(name, value, int(paired.sum()), low, high, confidence=confidence, method=method, note=note)


def shuffled_alphas(
    ratings: Ratings,
    categories: Sequence[Label],
    *,
    level: Level,
    swapped: ArrayLike | None = None,
    draws: int = 399,
    seed: int = 0,
) -> Floats:
    """Alpha where each rater's votes (a column) are dealt anew to the items that the rater saw: what unrelated votes give.

    A rare answer that by luck no two raters give to one item makes alpha negative and its interval narrow; here it does not.
    Of pairs that count in both orders, `swapped` (items x raters) says who saw the two clips the other way round. Their votes are
    dealt as they were shown: raters who favour one side agree on pairs that all see alike, which is no agreement on the clips.
    """
    declared = check_categories(categories)
    codes, points, rng = rating_codes(ratings, declared), category_values(declared), np.random.default_rng(seed)
    turned = np.zeros(codes.shape, dtype=bool) if swapped is None else np.asarray(swapped, dtype=bool) & (codes != MISSING)
    codes[turned] = len(declared) - 1 - codes[turned]
    found = np.empty(draws)
    for k in range(draws):
        for own in codes.T:
            own[own != MISSING] = rng.permutation(own[own != MISSING])
        counts = vote_counts(np.where(turned, len(declared) - 1 - codes, codes), len(declared))
        counts = counts if swapped is None else np.concatenate([counts, counts[:, ::-1]])
        totals = _coincidences(counts[counts.sum(axis=1) >= 2]).sum(axis=0)
        found[k] = _alpha(totals[None], points, level)[0]
    return found


def _coincidences(counts: Floats) -> Floats:
    q = counts.shape[1]
    pairs = counts[:, :, None] * (counts[:, None, :] - np.eye(q))
    return np.asarray((pairs / (counts.sum(axis=1) - 1)[:, None, None]).reshape(len(counts), q * q))


def _alpha(totals: Floats, points: Floats, level: str) -> Floats:
    q = len(points)
    observed = totals.reshape(-1, q, q)
    marginals = observed.sum(axis=2)
    distance = _distances(marginals, points, level)
    expected = marginals[:, :, None] * (marginals[:, None, :] - np.eye(q))
    total = marginals.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1 - (total - 1) * (observed * distance).sum(axis=(1, 2)) / (expected * distance).sum(axis=(1, 2)))


def _distances(marginals: Floats, points: Floats, level: str) -> Floats:
    """Squared distances (resamples x q x q); the ordinal one counts the votes between two ranks, so it follows the resample."""
    q = len(points)
    if level == "nominal":
        return np.broadcast_to(1 - np.eye(q), (len(marginals), q, q))
    if level == "interval":
        return np.broadcast_to(np.subtract.outer(points, points) ** 2, (len(marginals), q, q))
    middle = np.cumsum(marginals, axis=1) - marginals / 2
    return (middle[:, :, None] - middle[:, None, :]) ** 2
