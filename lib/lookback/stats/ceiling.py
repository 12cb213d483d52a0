"""How near does a judge or a metric come to people, on the same items, by the same yardstick?

Leave one out: every vote is compared with the majority of the other votes on its item; so is the judge's answer, with the same
majority on the same item. A judge who answers as one more person would then comes out equal on average. (Compared with the
majority of all votes it would not: that majority contains the person's own vote, and undecided items differ.)

Rank correlation: the same with the mean of the other votes. The noise ceiling is what a perfect metric reaches against the mean
of all votes, sqrt(reliability), with the reliability of the mean of k votes by one-way analysis of variance (ICC(1,k), Shrout &
Fleiss 1979, which is Spearman-Brown's formula on ICC(1,1)). Votes enter by their mid-ranks, since the correlation is one of ranks.

Shares, their difference and the ceiling get intervals from leaving out one cluster at a time, with t; the ceiling's on the scale
of log(within / between), where it is nearly normal. Differences of rank correlations resample clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.correlations import spearman_draws, spearman_rows, weighted_spearman
from lookback.stats.intervals import (
    FEWEST_CLUSTERS,
    UNVARIED,
    Estimate,
    cluster_totals,
    enough_resamples,
    measure_row,
    varying_interval,
    wilson,
)
from lookback.stats.jackknife import jackknife_covariance, ratios_without
from lookback.stats.ratings import (
    MISSING,
    Codes,
    Floats,
    Label,
    Ratings,
    check_categories,
    cluster_codes,
    code_labels,
    preference_sign,
    rating_codes,
    vote_counts,
)

# a spread this small beside the votes' squares is rounding
NO_SPREAD = 1e-12


def few_clusters(groups: int) -> str:
    """Why so few clusters have no interval; empty where there are enough."""
    return "" if groups >= FEWEST_CLUSTERS else f"{groups} clusters only: an interval needs {FEWEST_CLUSTERS}"


@dataclass(frozen=True)
class _Cells:
    """Every vote with the other votes on its item: which item, its own code, the others' majority (or MISSING) and mean."""

    item: Codes
    own: Codes
    majority: Codes
    mean: Floats


def _cells(codes: Codes, points: Floats) -> _Cells:
    counts = vote_counts(codes, len(points))
    item, rater = np.nonzero((codes != MISSING) & (counts.sum(axis=1) >= 2)[:, None])
    own = codes[item, rater]
    others = counts[item]
    others[np.arange(len(item)), own] -= 1
    decided = others.max(axis=1) > others.sum(axis=1) / 2
    return _Cells(item, own, np.where(decided, others.argmax(axis=1), MISSING), _mean(others @ points, others.sum(axis=1)))


def _mean(total: Floats, votes: Floats) -> Floats:
    """Means of mid-ranks (0 to 1) to 12 digits: equal ones stay tied, whatever the order of their votes."""
    return np.asarray(np.round(total / votes, 12))


def judge_beside_people(
    ratings: Ratings,
    judge: ArrayLike,
    categories: Sequence[Label],
    *,
    scores: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    symmetric: bool = False,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Tidy rows (measure, value, low, high, n, reason) of people and judge on the items that the judge answered.

    people, judge, difference: share of votes (of the judge's answers) that equal the majority of the other votes; judge - people.
    rho_people, rho_judge, rho_difference: rank correlation with the mean of the other votes; the judge's is that of `scores`, or
    of its answers. rho: of the scores with the mean of all votes. rho_ceiling: what a perfect metric would reach there.
    `symmetric` counts preferences (1, 0, -1) in both orders of the pair, inside its own cluster, as `bridge` does.
    """
    declared = check_categories(categories)
    codes, answers = rating_codes(ratings, declared), code_labels(judge, declared)
    if answers.shape != (len(codes),):
        raise UsageError(f"one answer of the judge per item is needed: {len(codes)} items, answers of shape {answers.shape}")
    middle = (len(declared) - 1) / 2  # so that the opposite preference has the opposite value
    values: Floats = answers.astype(float) - middle if scores is None else np.asarray(scores, dtype=float)
    groups = cluster_codes(clusters, len(codes))
    kept = (answers != MISSING) & np.isfinite(values)
    codes, answers, values, groups = codes[kept], answers[kept], values[kept], groups[kept]
    n = len(codes)
    if symmetric:
        turned = _turned(declared)
        codes, answers = np.concatenate([codes, turned[codes]]), np.concatenate([answers, turned[answers]])
        values, groups = np.concatenate([values, -values]), np.tile(groups, 2)
    points = mid_ranks(codes, len(declared))
    cells, drawn = _cells(codes, points), (resamples, confidence, seed)
    people = [_share_rows(cells, answers, groups, n, confidence), _rank_rows(cells, points, values, groups, n, *drawn)]
    voted = (codes != MISSING).sum(axis=1) >= 2
    mean = _mean(np.append(points, 0.0)[codes[voted]].sum(axis=1), (codes[voted] != MISSING).sum(axis=1))
    count, whole = int(voted[:n].sum()), (values[voted], values[voted])
    metric = [
        measure_row(lambda: _rank("rho", whole, mean, groups[voted], 1, count, *drawn), "rho"),
        measure_row(lambda: replace(noise_ceiling_of(codes, points, groups, confidence), n=count), "rho_ceiling"),
    ]
    return pd.DataFrame([*people[0], *people[1], *metric])


def _turned(declared: list[Label]) -> Codes:
    """The code of the opposite preference for every code, and MISSING for MISSING."""
    signs = preference_sign(np.array(declared, dtype=object))
    return np.append(code_labels(-signs, signs.tolist()), MISSING)


def _share_rows(cells: _Cells, answers: Codes, groups: Codes, n: int, confidence: float) -> list[dict[str, object]]:
    decided = cells.majority != MISSING
    item, goal = cells.item[decided], cells.majority[decided]
    hits = np.column_stack([cells.own[decided] == goal, answers[item] == goal])
    parts: dict[str, Callable[[Floats], Floats]] = {
        "people": lambda t: t[..., 0],
        "judge": lambda t: t[..., 1],
        "difference": lambda t: t[..., 1] - t[..., 0],
    }
    asked = len(np.unique(item % n)) if n else 0
    return [
        measure_row(lambda: _share(name, hits, groups[item], part, name != "difference", asked, confidence), name)  # noqa: B023
        for name, part in parts.items()
    ]


def _rank_rows(
    cells: _Cells, points: Floats, values: Floats, groups: Codes, n: int, resamples: int, confidence: float, seed: int
) -> list[dict[str, object]]:
    pair, where, asked = (points[cells.own], values[cells.item]), groups[cells.item], len(np.unique(cells.item % n)) if n else 0
    drawn = (asked, resamples, confidence, seed)
    return [
        measure_row(lambda: _rank(name, pair, cells.mean, where, side, *drawn), name)  # noqa: B023
        for side, name in enumerate(("rho_people", "rho_judge", "rho_difference"))
    ]


def _share(
    name: str, hits: Floats, groups: Codes, part: Callable[[Floats], Floats], bounded: bool, n: int, confidence: float
) -> Estimate:
    """A function of the two shares, with the interval of leaving out one cluster at a time."""
    if len(hits) == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no item has a vote and a majority of others to compare with")
    groups = np.unique(groups, return_inverse=True)[1]
    count = int(groups.max()) + 1
    totals = cluster_totals(np.column_stack([hits, np.ones(len(hits))]).astype(float), groups)
    value = float(part(totals[:, :2].sum(axis=0) / totals[:, 2].sum()))
    if note := few_clusters(count):
        return Estimate(name, value, n, confidence=confidence, note=note)
    found = _t_interval(name, value, part(ratios_without(totals[:, :2], totals[:, 2:]))[:, None], n, confidence)
    if not bounded:
        return found
    if found.low is None or found.high is None:
        low, high = wilson(value, count, confidence)
        return replace(found, low=low, high=high, note=f"the clusters do not vary: Wilson's interval over {count} clusters")
    return replace(found, low=max(0.0, found.low), high=min(1.0, found.high), p=None)


def _rank(
    name: str,
    pair: tuple[Floats, Floats],
    target: Floats,
    groups: Codes,
    side: int,
    n: int,
    resamples: int,
    confidence: float,
    seed: int,
) -> Estimate:
    """Spearman of one side of `pair` with the target (side 0 or 1), or of the second less the first (side 2)."""
    compared = pair if side == 2 else (pair[side],)
    if len(target) < 3 or np.ptp(target) == 0 or any(np.ptp(values) == 0 for values in compared):
        raise NotScorable(Reason.UNDEFINED, "a rank correlation needs three votes, and answers that vary")
    groups = np.unique(groups, return_inverse=True)[1]
    count = int(groups.max()) + 1
    found = [float(spearman_rows(values[None], target[None])[0]) for values in compared]
    value = found[1] - found[0] if side == 2 else found[0]
    if note := few_clusters(count):
        return Estimate(name, value, n, confidence=confidence, note=note)
    if side == 2:
        without = [weighted_spearman(values, target, groups, [1 - np.eye(count)]) for values in pair]
        return _t_interval(name, value, (without[1] - without[0])[:, None], n, confidence)
    draws = spearman_draws(pair[side], target, groups, enough_resamples(resamples, count, confidence), seed)
    low, high, note = varying_interval(draws, value, count, confidence)
    return Estimate(name, value, n, low, high, confidence=confidence, note=note)


def _t_interval(name: str, value: float, without: Floats, n: int, confidence: float) -> Estimate:
    """From the values without each cluster (clusters x 1): interval and p by t; none where they do not vary or do not exist."""
    count = len(without)
    se = float(np.sqrt(jackknife_covariance(without)[0, 0]))
    method = f"leaving out one of {count} clusters, t with {count - 1} df"
    if not se > UNVARIED:
        why = "do not vary" if np.isfinite(se) else "leave too little without one of them"
        return Estimate(name, value, n, confidence=confidence, method=method, note=f"the clusters {why}: no interval")
    half = float(stats.t.ppf(0.5 + confidence / 2, count - 1)) * se
    p = float(2 * stats.t.sf(abs(value) / se, count - 1))
    return Estimate(name, value, n, value - half, value + half, se, p, confidence, method)


def mid_ranks(codes: Codes, q: int) -> Floats:
    """The mean rank of each category among all votes, as a share of them (Bross' ridits)."""
    sizes = np.bincount(codes[codes != MISSING], minlength=q).astype(float)
    return np.asarray((np.cumsum(sizes) - sizes / 2) / max(1.0, sizes.sum()))


def noise_ceiling(
    ratings: Ratings, categories: Sequence[Label], *, clusters: ArrayLike | None = None, confidence: float = 0.95
) -> Estimate:
    """The largest rank correlation that a perfect metric could have with the mean vote, given that votes on one item differ."""
    declared = check_categories(categories)
    codes = rating_codes(ratings, declared)
    return noise_ceiling_of(codes, mid_ranks(codes, len(declared)), cluster_codes(clusters, len(codes)), confidence)


def noise_ceiling_of(codes: Codes, points: Floats, groups: Codes, confidence: float) -> Estimate:
    """As `noise_ceiling`, of coded votes whose categories have these points."""
    kept = (codes != MISSING).sum(axis=1) >= 2
    if kept.sum() < 2:
        raise NotScorable(Reason.TOO_FEW_VALUES, "a noise ceiling needs two items with two votes each")
    given, votes = np.append(points, 0.0)[codes[kept]], (codes[kept] != MISSING).sum(axis=1).astype(float)
    total = given.sum(axis=1)
    # items, votes, sum, sum of squares, sum of squared item totals over their votes
    terms = np.column_stack([np.ones(len(votes)), votes, total, (given**2).sum(axis=1), total**2 / votes])
    totals = cluster_totals(terms, np.unique(groups[kept], return_inverse=True)[1])
    count, n = len(totals), int(kept.sum())
    ratio = float(_log_within_over_between(totals.sum(axis=0)))
    if np.isnan(ratio) or ratio >= 0:
        raise NotScorable(Reason.UNDEFINED, "items differ no more than votes on one item do: no reliable signal to correlate with")
    name, value = "rho_ceiling", _ceiling(ratio)
    if note := few_clusters(count):
        return Estimate(name, value, n, confidence=confidence, note=note)
    without = _log_within_over_between(totals.sum(axis=0) - totals)
    if not np.isfinite(without).all():
        return Estimate(name, value, n, confidence=confidence, note="votes on one item do not differ in some resample: no interval")
    se = float(np.sqrt(jackknife_covariance(without[:, None])[0, 0]))
    half = float(stats.t.ppf(0.5 + confidence / 2, count - 1)) * se
    method = f"leaving out one of {count} clusters on the log scale, t with {count - 1} df"
    return Estimate(name, value, n, _ceiling(ratio + half), _ceiling(ratio - half), confidence=confidence, method=method)


def _log_within_over_between(sums: Floats) -> Floats:
    """log(MSW / MSB) of totals (..., 5): minus infinity where votes on one item never differ, NaN where items do not differ."""
    items, n, s, squares, between = np.moveaxis(sums, -1, 0)
    spread, rest = between - s**2 / n, squares - between
    with np.errstate(invalid="ignore", divide="ignore"):
        within = np.where(rest > NO_SPREAD * squares, rest, 0.0) / (n - items)
        return np.asarray(np.log(within / (np.where(spread > NO_SPREAD * squares, spread, np.nan) / (items - 1))))


def _ceiling(log_ratio: float) -> float:
    return float(np.sqrt(max(0.0, 1 - np.exp(log_ratio))))
