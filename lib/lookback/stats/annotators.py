"""The annotators: how each agrees with the others, Dawid and Skene's model of their quality, and the human ceiling.

Dawid & Skene (1979), Appl. Statist. 28:20-28: each annotator j has a confusion matrix P(vote l | true k) = pi_jkl, each item a
hidden true label with P(true k) = p_k; fitted by EM.

The human ceiling says how well a perfect metric could do, given that people disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.agreement import gwet_ac1
from lookback.stats.correlations import spearman_rows
from lookback.stats.intervals import Estimate, bootstrap_totals, measure_row, proportion, share_interval, varying_interval
from lookback.stats.ratings import (
    MISSING,
    Codes,
    Floats,
    Label,
    Ratings,
    category_values,
    check_categories,
    cluster_codes,
    preference_sign,
    rating_codes,
    vote_counts,
)

# smaller sums of squares and correlations count as zero
ROUNDING = 1e-12


def leave_one_annotator_out(
    ratings: Ratings,
    categories: Sequence[Label],
    *,
    statistic: Callable[..., Estimate] = gwet_ac1,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """One row per annotator: agreement with the others' majority (n, rate, Wilson interval) and the panel statistic without them.

    `change` is the statistic without the annotator minus the statistic with everybody: clearly positive means the annotator pulls
    agreement down. `reason` is filled where a cell cannot be computed.
    """
    declared = check_categories(categories)
    codes = rating_codes(ratings, declared)
    if (codes != MISSING).any(axis=0).sum() < 2:
        raise NotScorable(Reason.TOO_FEW_VALUES, "leaving one annotator out needs at least two annotators")
    raters = ratings.columns if isinstance(ratings, pd.DataFrame) else pd.RangeIndex(codes.shape[1])
    labels, voters = _packed(codes, declared)
    everybody = statistic(labels, declared).value
    everyone = vote_counts(codes, len(declared))
    rows = []
    for position, annotator in enumerate(raters):
        own = codes[:, position]
        counts = everyone - (own[:, None] == np.arange(len(declared)))
        decided = counts.max(axis=1) > counts.sum(axis=1) / 2
        compared = decided & (own != MISSING)
        row: dict[str, object] = {"annotator": annotator, "n_votes": int((own != MISSING).sum()), "n_compared": int(compared.sum())}
        reasons = []
        try:
            hits = int((counts.argmax(axis=1) == own)[compared].sum())
            rate = proportion("agreement with the others", hits, int(compared.sum()), confidence)
            row |= {"agreement": rate.value, "low": rate.low, "high": rate.high}
        except NotScorable as missing:
            row |= {"agreement": np.nan, "low": np.nan, "high": np.nan}
            reasons.append(str(missing))
        try:
            kept = labels.copy()
            kept[voters == position] = None
            without = statistic(kept, declared).value
            row |= {"without": without, "change": without - everybody}
        except NotScorable as missing:
            row |= {"without": np.nan, "change": np.nan}
            reasons.append(str(missing))
        rows.append({**row, "reason": "; ".join(reasons)})
    return pd.DataFrame(rows)


def _packed(codes: Codes, declared: list[Label]) -> tuple[NDArray[np.object_], Codes]:
    """Labels and raters moved to the left (items x most votes on an item): small when each rater saw few of the items."""
    item, rater = np.nonzero(codes != MISSING)
    position = np.arange(len(item)) - np.searchsorted(item, item)
    labels = np.full((len(codes), int(position.max()) + 1), None, dtype=object)
    voters = np.full(labels.shape, MISSING)
    labels[item, position] = np.array(declared, dtype=object)[codes[item, rater]]
    voters[item, position] = rater
    return labels, voters


@dataclass(frozen=True)
class DawidSkene:
    """The fitted model: hidden-label probabilities per item, confusion per annotator, prevalence, and how the fit went."""

    posterior: pd.DataFrame
    confusion: pd.DataFrame
    prevalence: pd.Series
    accuracy: pd.DataFrame
    log_likelihood: float
    iterations: int
    converged: bool


def dawid_skene(
    ratings: Ratings,
    categories: Sequence[Label],
    *,
    smoothing: float = 0.01,
    tolerance: float = 1e-8,
    max_iterations: int = 2000,
) -> DawidSkene:
    """Fit by EM from the vote shares; `ratings` is items x raters, or items x raters x categories counts of repeated votes.

    `smoothing` votes are added to every cell of a confusion matrix so that a label an annotator never used keeps a chance;
    0 is plain maximum likelihood. `accuracy` weighs each annotator's diagonal by prevalence.
    """
    declared = check_categories(categories)
    votes = _votes(ratings, declared)
    if len(np.unique(votes.rater)) < 2 or not votes.shared:
        raise NotScorable(Reason.TOO_FEW_VALUES, "annotator quality needs items that two or more annotators voted on")
    n, m, q = len(votes.items), len(votes.raters), len(declared)
    shares = np.bincount(votes.item * q + votes.label, weights=votes.count, minlength=n * q).reshape(n, q)
    posterior = shares / shares.sum(axis=1, keepdims=True)
    confusion, prevalence = np.zeros((m, q, q)), np.zeros(q)
    previous, converged, iterations, likelihood = -np.inf, False, 0, -np.inf
    while not converged and iterations < max_iterations:
        iterations += 1
        prevalence = posterior.mean(axis=0)
        confusion = _confusions(votes, posterior, m, q, smoothing)
        with np.errstate(divide="ignore"):
            log_votes = np.maximum(np.log(confusion), -1e3)[votes.rater, :, votes.label] * votes.count[:, None]
            log_joint = np.log(prevalence) + np.stack([np.bincount(votes.item, column, n) for column in log_votes.T], axis=1)
        peak = log_joint.max(axis=1, keepdims=True)
        joint = np.exp(log_joint - peak)
        likelihood = float((np.log(joint.sum(axis=1)) + peak[:, 0]).sum())
        posterior = joint / joint.sum(axis=1, keepdims=True)
        converged = abs(likelihood - previous) < tolerance * max(1.0, abs(likelihood))
        previous = likelihood
    return _tables(posterior, confusion, prevalence, votes, declared, likelihood, iterations, converged)


@dataclass(frozen=True)
class _Votes:
    """Votes one by one: item, rater and label as codes, and how often that vote was given."""

    item: Codes
    rater: Codes
    label: Codes
    count: Floats
    items: pd.Index
    raters: pd.Index

    @property
    def shared(self) -> bool:
        """Is there an item that two raters voted on?"""
        once = np.unique(self.item * len(self.raters) + self.rater) // len(self.raters)
        return bool((np.bincount(once) >= 2).any())


def _confusions(votes: _Votes, posterior: Floats, m: int, q: int, smoothing: float) -> Floats:
    cell = votes.rater * q + votes.label
    expected = [np.bincount(cell, posterior[votes.item, k] * votes.count, m * q).reshape(m, q) for k in range(q)]
    confusion = np.stack(expected, axis=1) + smoothing
    with np.errstate(invalid="ignore", divide="ignore"):
        confusion /= confusion.sum(axis=2, keepdims=True)
    # no data for this true label and annotator: all votes are equally likely
    return np.asarray(np.nan_to_num(confusion, nan=1 / q))


def _votes(ratings: Ratings, declared: list[Label]) -> _Votes:
    if isinstance(ratings, np.ndarray) and ratings.ndim == 3:
        if ratings.shape[2] != len(declared):
            raise UsageError(f"counts have {ratings.shape[2]} categories, {len(declared)} are declared")
        item, rater, label = np.nonzero(ratings)
        count = ratings[item, rater, label].astype(float)
        items, raters = pd.RangeIndex(len(ratings)), pd.RangeIndex(ratings.shape[1])
    else:
        codes = rating_codes(ratings, declared)
        item, rater = np.nonzero(codes != MISSING)
        label, count = codes[item, rater], np.ones(len(item))
        frame = ratings if isinstance(ratings, pd.DataFrame) else pd.DataFrame(codes)
        items, raters = frame.index, frame.columns
    voted, item = np.unique(item, return_inverse=True)
    return _Votes(item, rater, label, count, items[voted], raters)


def _tables(
    posterior: Floats,
    confusion: Floats,
    prevalence: Floats,
    votes: _Votes,
    declared: list[Label],
    likelihood: float,
    iterations: int,
    converged: bool,
) -> DawidSkene:
    raters = votes.raters
    accuracy = pd.DataFrame(
        {
            "annotator": raters,
            "n_votes": np.bincount(votes.rater, votes.count, len(raters)).astype(int),
            "accuracy": (np.einsum("jkk->jk", confusion) * prevalence).sum(axis=1),
        }
    )
    index = pd.MultiIndex.from_product([raters, declared, declared], names=["annotator", "true_label", "voted_label"])
    tidy = pd.DataFrame({"probability": confusion.ravel()}, index=index).reset_index()
    return DawidSkene(
        pd.DataFrame(posterior, index=votes.items, columns=pd.Index(declared)),
        tidy,
        pd.Series(prevalence, index=pd.Index(declared), name="prevalence"),
        accuracy,
        likelihood,
        iterations,
        converged,
    )


def human_ceiling(
    ratings: Ratings,
    categories: Sequence[Label],
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Tidy rows (measure, value, low, high, n, reason) for items x raters.

    rater_vs_majority: how often one rater's label equals the majority of the others (what a metric as good as one person reaches).
    reliability: ICC(1,k) of the panel's mean label (Shrout & Fleiss 1979). correlation_ceiling = sqrt(reliability): the largest
    correlation the true mean label itself could have with the panel's.
    """
    declared = check_categories(categories)
    codes = rating_codes(ratings, declared)
    groups = cluster_codes(clusters, len(codes))
    options = (groups, resamples, confidence, seed)
    rows = [
        measure_row(lambda: _rater_vs_majority(codes, len(declared), *options), "rater_vs_majority"),
        measure_row(lambda: _reliability(codes, declared, "reliability", *options), "reliability"),
        measure_row(lambda: _reliability(codes, declared, "correlation_ceiling", *options), "correlation_ceiling"),
    ]
    return pd.DataFrame(rows)


def _rater_vs_majority(codes: Codes, q: int, groups: Codes, resamples: int, confidence: float, seed: int) -> Estimate:
    counts = vote_counts(codes, q)
    hits, cases = np.zeros(len(codes)), np.zeros(len(codes))
    for own in codes.T:
        voted = own != MISSING
        others = counts - (own[:, None] == np.arange(q))
        decided = voted & (others.max(axis=1) > others.sum(axis=1) / 2)
        hits += decided & (others.argmax(axis=1) == own)
        cases += decided
    if cases.sum() == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no item has a rater and a majority of others to compare with")
    terms = np.column_stack([hits, cases])
    draws = bootstrap_totals(terms, lambda t: t[:, 0] / t[:, 1], groups, resamples, seed)
    value = float(hits.sum() / cases.sum())
    low, high, note = share_interval(draws, value, len(np.unique(groups[cases > 0])), confidence)
    return Estimate("rater_vs_majority", value, int((cases > 0).sum()), low, high, note=note)


def _reliability(
    codes: Codes,
    declared: list[Label],
    name: str,
    groups: Codes,
    resamples: int,
    confidence: float,
    seed: int,
) -> Estimate:
    """One-way random ICC of the mean of k votes: (MSB - MSW)/MSB; unequal numbers of votes enter through the ANOVA sums."""
    points = np.append(category_values(declared), np.nan)[codes]
    votes = (codes != MISSING).sum(axis=1)
    kept = votes >= 2
    if kept.sum() < 2:
        raise NotScorable(Reason.TOO_FEW_VALUES, "reliability needs two items with two votes each")
    points, votes, groups = points[kept], votes[kept].astype(float), np.unique(groups[kept], return_inverse=True)[1]
    total = np.nansum(points, axis=1)
    # items, votes, sum, sum of squares, sum of squared item totals over their votes
    terms = np.column_stack([np.ones(len(votes)), votes, total, np.nansum(points**2, axis=1), total**2 / votes])

    def statistic(sums: Floats) -> Floats:
        items, n, s, squares, between = sums.T
        spread = between - s**2 / n
        msb = np.where(spread > ROUNDING * squares, spread, np.nan) / (items - 1)
        msw = (squares - between) / (n - items)
        icc = 1 - msw / msb
        return np.asarray(icc if name == "reliability" else np.sqrt(np.where(icc > ROUNDING, icc, np.nan)))

    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(statistic(terms.sum(axis=0)[None])[0])
    if not np.isfinite(value):
        raise NotScorable(Reason.UNDEFINED, "items differ no more than votes on one item do: no reliable signal to correlate with")
    draws = bootstrap_totals(terms, statistic, groups, resamples, seed)
    # a negative reliability has no root: as a ceiling it is zero
    draws = np.nan_to_num(draws, nan=0.0) if name == "correlation_ceiling" else draws
    low, high, note = varying_interval(draws, int(groups.max()) + 1, confidence)
    return Estimate(name, value, int(kept.sum()), low, high, note=note)


def model_ceiling(
    ratings: Ratings,
    model_a: ArrayLike,
    model_b: ArrayLike,
    *,
    splits: int = 200,
    seed: int = 0,
) -> Estimate:
    """The largest model-level rho a metric could show: sqrt of the Spearman-Brown reliability of the human win ratios.

    Each pair's votes are split at random in two halves; r is the mean Spearman correlation of the two halves' win ratios,
    k r/(1 + (k - 1) r) the reliability of all votes together, k being the votes over the votes in one half (Spearman-Brown; an odd
    vote belongs to no half). Needs pairs with at least two votes.
    """
    table = np.asarray(ratings, dtype=object)
    voted = ~pd.isna(table)
    signs = np.zeros(table.shape)
    signs[voted] = preference_sign(table[voted])
    half = voted.sum(axis=1) // 2
    kept = half > 0
    if not kept.any():
        raise NotScorable(Reason.TOO_FEW_VALUES, "no pair has two votes to split in halves")
    models = pd.factorize(pd.Series(np.concatenate([np.asarray(model_a)[kept], np.asarray(model_b)[kept]])))[0]
    a, b = models[: kept.sum()], models[kept.sum() :]
    m = int(models.max()) + 1
    signs, voted, half = signs[kept], voted[kept], half[kept]
    rng = np.random.default_rng(seed)
    played = np.bincount(a, minlength=m) + np.bincount(b, minlength=m)
    halves = np.empty((2, splits, m))
    for split in range(splits):
        rank = np.argsort(np.argsort(np.where(voted, rng.random(voted.shape), 2.0), axis=1), axis=1)
        for side, chosen in enumerate((rank < half[:, None], (rank >= half[:, None]) & (rank < 2 * half[:, None]))):
            mean = (signs * chosen).sum(axis=1) / half
            halves[side, split] = (np.bincount(a, (1 + mean) / 2, m) + np.bincount(b, (1 - mean) / 2, m)) / played
    values = spearman_rows(halves[0], halves[1])
    r = float(np.nanmean(values)) if np.isfinite(values).any() else np.nan
    if not r > ROUNDING:
        raise NotScorable(Reason.UNDEFINED, "the two halves of the votes do not rank the models alike: no ceiling above zero")
    method = f"Spearman-Brown over {splits} random halves, seed {seed}"
    longer = float(voted.sum() / half.sum())
    ceiling = float(np.sqrt(longer * r / (1 + (longer - 1) * r)))
    return Estimate("model ceiling", ceiling, m, method=method, note=f"split-half rho {r:.3f}")
