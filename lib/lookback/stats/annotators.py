"""The annotators: how each agrees with the others, how reliable they are together, and the ceiling this sets.

The human ceiling says how well a perfect metric could do, given that people disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lookback.errors import NotScorable, Reason
from lookback.stats.agreement import gwet_ac1
from lookback.stats.correlations import spearman_rows
from lookback.stats.intervals import (
    Estimate,
    bootstrap_totals,
    enough_resamples,
    measure_row,
    number,
    share,
    share_interval,
    varying_interval,
)
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
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """One row per annotator: agreement with the others' majority (n, rate, interval over clusters), the statistic without them.

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
    groups = None if clusters is None else cluster_codes(clusters, len(codes))
    rows = []
    for position, annotator in enumerate(raters):
        own = codes[:, position]
        counts = everyone - (own[:, None] == np.arange(len(declared)))
        decided = counts.max(axis=1) > counts.sum(axis=1) / 2
        compared = decided & (own != MISSING)
        row: dict[str, object] = {"annotator": annotator, "n_votes": int((own != MISSING).sum()), "n_compared": int(compared.sum())}
        reasons = []
        try:
            hits = (counts.argmax(axis=1) == own)[compared]
            rate = share("agreement with the others", hits, None if groups is None else groups[compared], confidence=confidence)
            row |= {"agreement": rate.value, "low": number(rate.low), "high": number(rate.high)}
            reasons += [rate.note] if rate.note else []
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
    terms, seen = np.column_stack([hits, cases]), len(np.unique(groups[cases > 0]))
    resamples = enough_resamples(resamples, seen, confidence)
    draws = bootstrap_totals(terms, lambda t: t[:, 0] / t[:, 1], groups, resamples, seed)
    value = float(hits.sum() / cases.sum())
    low, high, note = share_interval(draws, value, seen, confidence)
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
    n_groups = int(groups.max()) + 1
    draws = bootstrap_totals(terms, statistic, groups, enough_resamples(resamples, n_groups, confidence), seed)
    # a negative reliability has no root: as a ceiling it is zero
    draws = np.nan_to_num(draws, nan=0.0) if name == "correlation_ceiling" else draws
    low, high, note = varying_interval(draws, value, n_groups, confidence)
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
    kept = voted.sum(axis=1) >= 2
    if not kept.any():
        raise NotScorable(Reason.TOO_FEW_VALUES, "no pair has two votes to split in halves")
    models = pd.factorize(pd.Series(np.concatenate([np.asarray(model_a)[kept], np.asarray(model_b)[kept]])))[0]
    a, b = models[: kept.sum()], models[kept.sum() :]
    m = int(models.max()) + 1
    played = np.bincount(a, minlength=m) + np.bincount(b, minlength=m)
    a, b, signs = _by_content(a, b, np.where(voted, signs, np.nan)[kept], played)
    voted = np.isfinite(signs)
    half = voted.sum(axis=1) // 2
    rng = np.random.default_rng(seed)
    halves = np.empty((2, splits, m))
    for split in range(splits):
        rank = np.argsort(np.argsort(np.where(voted, rng.random(voted.shape), 2.0), axis=1), axis=1)
        for side, chosen in enumerate((rank < half[:, None], (rank >= half[:, None]) & (rank < 2 * half[:, None]))):
            mean = np.where(chosen, signs, 0.0).sum(axis=1) / half
            halves[side, split] = _ratios(a, b, mean, played)
    values = spearman_rows(halves[0], halves[1])
    r = float(np.nanmean(values)) if np.isfinite(values).any() else np.nan
    if not r > ROUNDING:
        raise NotScorable(Reason.UNDEFINED, "the two halves of the votes do not rank the models alike: no ceiling above zero")
    method = f"Spearman-Brown over {splits} random halves, seed {seed}"
    longer = float(voted.sum() / half.sum())
    ceiling = float(np.sqrt(longer * r / (1 + (longer - 1) * r)))
    return Estimate("model ceiling", ceiling, m, method=method, note=f"split-half rho {r:.3f}")


def _ratios(a: Codes, b: Codes, mean: Floats, played: Codes) -> Floats:
    """The models' win ratios from the mean preference of each pair, ties half; to 12 digits, so that equal ones stay tied."""
    m = len(played)
    return np.asarray(np.round((np.bincount(a, (1 + mean) / 2, m) + np.bincount(b, (1 - mean) / 2, m)) / played, 12))


def _by_content(a: Codes, b: Codes, signs: Floats, played: Codes) -> tuple[Codes, Codes, Floats]:
    """Pairs turned so that the model with the lower win ratio is first, their votes and then the pairs sorted: names do not matter.

    Models stay as coded; missing votes (NaN) come last.
    """
    place = np.argsort(np.argsort(_ratios(a, b, np.nanmean(signs, axis=1), played), kind="stable"))
    turned = place[a] > place[b]
    first, second = np.where(turned, b, a), np.where(turned, a, b)
    votes = np.sort(np.where(turned[:, None], -signs, signs), axis=1)
    order = np.lexsort((*votes.T, place[second], place[first]))
    return first[order], second[order], votes[order]
