"""How near does a judge or a metric come to people, on the same items, by the same yardstick?

Leave one out: every vote is compared with the majority of the other votes on its item; so is the judge's answer, with the same
majority on the same item. A judge who answers as one more person would then comes out equal on average. (Compared with the
majority of all votes it would not: that majority contains the person's own vote, and undecided items differ.)

Rank correlation: the same with the mean of the other votes. The noise ceiling is what a perfect metric is estimated to reach
against the mean of all votes on the same items: sqrt(reliability of the mean votes), see `reliability`. Votes enter by their
mid-ranks, since the correlation is one of ranks.

Shares, differences and the ceiling get intervals from leaving out one cluster at a time, with t. Rank correlations resample
clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.correlations import spearman_draws, spearman_rows, weighted_spearman
from lookback.stats.intervals import (
    UNVARIED,
    Estimate,
    cluster_totals,
    enough_resamples,
    measure_row,
    too_few_clusters,
    varying_interval,
    wilson,
)
from lookback.stats.jackknife import jackknife_variance, ratios_without
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
from lookback.stats.reliability import mean_vote_reliability


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
    """Tidy rows (measure, value, low, high, n, reason; p of the differences) of people and judge on the items the judge answered.

    people, judge, difference: share of votes (of the judge's answers) that equal the majority of the other votes; judge - people.
    rho_people, rho_judge, rho_difference: rank correlation with the mean of the other votes; the judge's is that of `scores`, or
    of its answers. rho: of the scores with the mean of all votes, on items with two votes. rho_ceiling: what a perfect metric is
    estimated to reach there, the columns of `ratings` being the raters.
    `symmetric` counts preferences (1, 0, -1) in both orders of the pair, inside its own cluster, as `bridge` does. A rater's
    leaning to one side then differs between the orders, so the ceiling counts all of it as noise.
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
    ceiling = partial(_noise_ceiling, codes[voted], points, groups[voted], not symmetric, confidence)
    metric = [
        measure_row(lambda: _rank("rho", whole, mean, groups[voted], 1, count, *drawn), "rho"),
        measure_row(lambda: replace(ceiling(), n=count), "rho_ceiling"),
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
        measure_row(partial(_share, name, hits, groups[item], part, name != "difference", asked, confidence), name, tested=True)
        for name, part in parts.items()
    ]


def _rank_rows(
    cells: _Cells, points: Floats, values: Floats, groups: Codes, n: int, resamples: int, confidence: float, seed: int
) -> list[dict[str, object]]:
    pair, where, asked = (points[cells.own], values[cells.item]), groups[cells.item], len(np.unique(cells.item % n)) if n else 0
    drawn = (asked, resamples, confidence, seed)
    return [
        measure_row(partial(_rank, name, pair, cells.mean, where, side, *drawn), name, tested=True)
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
    value = float(part(totals[:, :-1].sum(axis=0) / totals[:, -1].sum()))
    if note := too_few_clusters(count):
        return Estimate(name, value, n, confidence=confidence, note=note)
    found = _t_interval(name, value, part(ratios_without(totals[:, :-1], totals[:, -1:]))[:, None], n, confidence, 1.0)
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
    if note := too_few_clusters(count):
        return Estimate(name, value, n, confidence=confidence, note=note)
    if side == 2:
        without = [weighted_spearman(values, target, groups, [1 - np.eye(count)]) for values in pair]
        return _t_interval(name, value, (without[1] - without[0])[:, None], n, confidence, 2.0)
    draws = spearman_draws(pair[side], target, groups, enough_resamples(resamples, count, confidence), seed)
    low, high, note = varying_interval(draws, value, count, confidence)
    return Estimate(name, value, n, low, high, confidence=confidence, note=note)


def _t_interval(name: str, value: float, without: Floats, n: int, confidence: float, limit: float) -> Estimate:
    """From the values without each cluster (clusters x 1): interval within +-limit and p by t; none where they do not vary."""
    count = len(without)
    se = float(np.sqrt(jackknife_variance(without)[0]))
    method = f"leaving out one of {count} clusters, t with {count - 1} df"
    if not se > UNVARIED:
        why = "do not vary" if np.isfinite(se) else "leave too little without one of them"
        return Estimate(name, value, n, confidence=confidence, method=method, note=f"the clusters {why}: no interval")
    half = float(stats.t.ppf(0.5 + confidence / 2, count - 1)) * se
    p = float(2 * stats.t.sf(abs(value) / se, count - 1))
    low, high = max(value - half, -limit), min(value + half, limit)
    return Estimate(name, value, n, low, high, se, p, confidence, method)


def rater_vs_majority(
    ratings: Ratings, categories: Sequence[Label], *, clusters: ArrayLike | None = None, confidence: float = 0.95
) -> Estimate:
    """How often one rater's label equals the majority of the others on the item: what a metric as good as one person reaches."""
    declared = check_categories(categories)
    codes = rating_codes(ratings, declared)
    cells = _cells(codes, mid_ranks(codes, len(declared)))
    decided = cells.majority != MISSING
    item, hits = cells.item[decided], (cells.own == cells.majority)[decided, None]
    groups = cluster_codes(clusters, len(codes))[item]
    return _share("rater_vs_majority", hits, groups, lambda t: t[..., 0], True, len(np.unique(item)), confidence)


def mid_ranks(codes: Codes, q: int) -> Floats:
    """The mean rank of each category among all votes, as a share of them (Bross' ridits)."""
    sizes = np.bincount(codes[codes != MISSING], minlength=q).astype(float)
    return np.asarray((np.cumsum(sizes) - sizes / 2) / max(1.0, sizes.sum()))


def noise_ceiling(
    ratings: Ratings,
    categories: Sequence[Label],
    *,
    clusters: ArrayLike | None = None,
    raters: bool = True,
    confidence: float = 0.95,
) -> Estimate:
    """What the rank correlation of a perfect metric with the mean votes is estimated to be, given that votes on one item differ.

    `raters` is False where a column is not one rater, or where pairs enter in both orders.
    """
    declared = check_categories(categories)
    codes = rating_codes(ratings, declared)
    return _noise_ceiling(codes, mid_ranks(codes, len(declared)), clusters, raters, confidence)


def _noise_ceiling(codes: Codes, points: Floats, clusters: ArrayLike | None, raters: bool, confidence: float) -> Estimate:
    votes = np.append(points, np.nan)[codes]
    found = mean_vote_reliability(votes, clusters=clusters, raters=raters, confidence=confidence)
    low, high = (None if end is None else float(np.sqrt(max(0.0, end))) for end in (found.low, found.high))
    return replace(found, name="rho_ceiling", value=float(np.sqrt(found.value)), low=low, high=high)
