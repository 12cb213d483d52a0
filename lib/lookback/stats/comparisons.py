"""Models compared with each other: differences with intervals and Holm's correction, and a ranking with ties.

Three scales: Davidson strengths (see `strengths`) and win ratios of preferences, and means of ratings. All get their errors by
leaving out parts of the study (see `jackknife`): win ratios and means are computed anew, strengths take one Newton step from the
fit of everything. Scenes are left out whole, so that models are compared within scenes. A difference is known as well as its rarer
model: where g clusters show that model, t has g - 1 degrees of freedom, and one cluster alone has no interval and no test.

With all models equal, the strengths' letters tell some pair apart in at most 5 % of studies; win ratios do so more often where
scenes are about as few as models. Therefore strengths come first wherever they exist.

A ranking tells two models apart only where Holm's correction over all pairs of models leaves p below alpha. A model's places run
from 1 + how many are shown to be better to m - how many are shown to be worse. Models that share a letter are not told apart
(compact letter display, Piepho 2004, J. Comput. Graph. Stat. 13:456-466).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from string import ascii_lowercase
from typing import Literal

import numpy as np
import pandas as pd
from scipy import special

from lookback.errors import NotScorable, Reason, UsageError
from lookback.names import counted
from lookback.stats.design import holm
from lookback.stats.intervals import FEWEST_CLUSTERS, UNVARIED, cluster_totals
from lookback.stats.jackknife import Estimates, ratios_without
from lookback.stats.rankings import Ties, pair_codes, win_terms
from lookback.stats.ratings import Codes, Floats, preference_sign
from lookback.stats.strengths import bradley_terry

COLUMNS = ["first", "second", "difference", "se", "low", "high", "p", "p_holm", "n_clusters", "reason"]


def win_ratio_comparisons(
    pairs: pd.DataFrame, cluster: str, *, label: str = "label", ties: Ties = "half", confidence: float = 0.95
) -> pd.DataFrame:
    """One row per pair of models, the better one first: difference of their win ratios, interval, p, Holm's p, or the reason.

    Where every cluster gives the same difference there is no interval, and p is that of a sign test over the clusters.
    """
    return differences(estimated_win_ratios(pairs, cluster, label=label, ties=ties), confidence)


def estimated_win_ratios(pairs: pd.DataFrame, cluster: str, *, label: str = "label", ties: Ties = "half") -> Estimates:
    """The models' win ratios, and what they are without each cluster."""
    codes = pair_codes(pairs, cluster)
    points, played = (cluster_totals(part, codes.clusters) for part in win_terms(codes, preference_sign(pairs[label]), ties))
    if (played.sum(axis=0) == 0).any():
        missing = codes.models[int(np.argmin(played.sum(axis=0)))]
        raise NotScorable(Reason.UNDEFINED, f"every comparison of {missing} is a tie, and ties are dropped")
    values, seen = points.sum(axis=0) / played.sum(axis=0), (played > 0).sum(axis=0)
    return Estimates(codes.models, values, (ratios_without(points, played),), seen, codes.n_clusters)


def strength_comparisons(
    pairs: pd.DataFrame,
    cluster: str,
    *,
    label: str = "label",
    ties: Literal["davidson", "drop"] = "davidson",
    annotator: str | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """The same for differences of Davidson log strengths, with `annotator` for annotators like these; NotScorable without a fit."""
    fit = bradley_terry(pairs, label=label, ties=ties, cluster=cluster, annotator=annotator, confidence=confidence)
    assert fit.estimates is not None  # there is a cluster
    return differences(fit.estimates, confidence)


def rating_comparisons(
    votes: pd.DataFrame, cluster: str, *, annotator: str | None = None, confidence: float = 0.95
) -> pd.DataFrame:
    """The same for differences of mean ratings."""
    return differences(mean_ratings(votes, cluster, annotator=annotator), confidence)


def mean_ratings(votes: pd.DataFrame, cluster: str, *, annotator: str | None = None) -> Estimates:
    """Mean rating of each model: the mean over its items of their mean vote. `votes` has model_a, item, label and `cluster`.

    An item stays as long as somebody is left who rated it.
    """
    if lacking := [c for c in ("model_a", "item", "label", cluster, *([annotator] if annotator else [])) if c not in votes]:
        raise UsageError(f"the table of ratings lacks the column(s) {', '.join(lacking)}")
    if len(votes) == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no ratings to compare models with")
    items, item = np.unique(votes["item"].astype(str), return_inverse=True)
    first = votes.iloc[np.unique(item, return_index=True)[1]]
    (models, model), (clusters, place) = (np.unique(first[name].astype(str), return_inverse=True) for name in ("model_a", cluster))
    values = votes["label"].to_numpy(dtype=float)

    def totals(kept: np.ndarray) -> tuple[Floats, Floats]:
        """Sums and numbers of the items' means (clusters x models) from some of the votes."""
        sums, counts = (np.bincount(item[kept], weights, len(items)) for weights in (values[kept], None))
        rated, cells = counts > 0, place * len(models) + model
        means = np.divide(sums, counts, out=np.zeros(len(items)), where=rated)
        shape, whole = (len(clusters), len(models)), len(clusters) * len(models)
        points, played = (np.asarray(np.bincount(cells, w, whole), dtype=float) for w in (means, rated.astype(float)))
        return points.reshape(shape), played.reshape(shape)

    points, played = totals(np.ones(len(votes), dtype=bool))
    value, seen = points.sum(axis=0) / played.sum(axis=0), (played > 0).sum(axis=0)
    by_cluster = ratios_without(points, played)
    if annotator is None:
        return Estimates(list(models), value, (by_cluster,), seen, len(clusters))
    names, who = np.unique(votes[annotator].astype(str), return_inverse=True)
    rest = [totals(who != k) for k in range(len(names))]
    met = [(k, g) for k, g in np.unique(np.column_stack([who, place[item]]), axis=0)]
    with np.errstate(invalid="ignore", divide="ignore"):
        by_annotator = np.array([p.sum(axis=0) / c.sum(axis=0) for p, c in rest])
        without = [
            (points.sum(axis=0) - points[g] + rest[k][0][g]) / (played.sum(axis=0) - played[g] + rest[k][1][g]) for k, g in met
        ]
    judged = np.array([len(np.unique(who[model[item] == k])) for k in range(len(models))])
    groups = min(len(clusters), len(names))
    return Estimates(list(models), value, (by_cluster, by_annotator, np.array(without)), np.minimum(seen, judged), groups)


def differences(found: Estimates, confidence: float = 0.95) -> pd.DataFrame:
    """All pairs of models, the better one first, as `win_ratio_comparisons` describes."""
    models, values, seen = found.models, found.values, found.seen
    if len(models) < 2:
        raise NotScorable(Reason.TOO_FEW_VALUES, "one model only: nothing to compare")
    i, j = np.array(list(combinations(np.argsort(-values, kind="stable"), 2))).T
    variances = found.variances(lambda without: without[..., i] - without[..., j])
    rows = []
    for a, b, variance in zip(i, j, variances, strict=True):
        rarer = min(a, b, key=seen.__getitem__)
        few = f"{counted(found.groups, 'cluster')} only"
        if len(found.without) > 1:
            few = f"{models[rarer]} is in one cluster only, or one annotator alone saw it"
        elif found.groups >= FEWEST_CLUSTERS:
            few = f"{models[rarer]} is in {seen[rarer]} of {found.groups} clusters"
        difference = float(values[a] - values[b])
        tested = _tested(difference, float(variance), int(seen[rarer]), few, confidence)
        rows.append({"first": models[a], "second": models[b], "difference": difference, **tested, "n_clusters": seen[rarer]})
    table = pd.DataFrame(rows).assign(p_holm=np.nan)
    known = table["p"].notna()
    table.loc[known, "p_holm"] = holm(table.loc[known, "p"], family_size=len(table))
    return table[COLUMNS]


def _tested(difference: float, variance: float, seen: int, few: str, confidence: float) -> dict[str, object]:
    empty: dict[str, object] = {"se": np.nan, "low": np.nan, "high": np.nan, "p": np.nan}
    if seen < FEWEST_CLUSTERS:
        return {**empty, "reason": f"{few}: a comparison needs {FEWEST_CLUSTERS}, no interval and no test"}
    if not np.isfinite(variance):
        return {**empty, "reason": "without one of the clusters there is no estimate: no interval and no test"}
    p, se = float(difference_p(difference, variance, seen)), float(np.sqrt(max(0.0, variance)))
    if se <= UNVARIED:
        return {**empty, "se": 0.0, "p": p, "reason": "every cluster gives the same difference: no interval, p of a sign test"}
    half = float(special.stdtrit(seen - 1, 0.5 + confidence / 2)) * se
    return {"se": se, "low": difference - half, "high": difference + half, "p": p, "reason": ""}


def difference_p(difference: Floats | float, variance: Floats | float, seen: Codes | int) -> Floats:
    """Two-sided p of differences whose rarer model is in `seen` clusters, by t; NaN with one cluster or without a variance.

    Where every cluster gives the same difference, it is that of a sign test over the clusters.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        se = np.sqrt(np.maximum(variance, 0.0))
        # Student's t without the checks of scipy.stats, which take longer than everything else for many pairs of models
        by_t = 2 * special.stdtr(np.subtract(seen, 1), -np.abs(difference) / se)
    by_sign = np.where(np.abs(difference) <= UNVARIED, 1.0, np.power(2.0, np.subtract(1, seen)))
    p = np.where(se <= UNVARIED, by_sign, by_t)
    return np.where(np.greater_equal(seen, FEWEST_CLUSTERS) & np.isfinite(variance), p, np.nan)


def ranking_with_ties(values: pd.Series, comparisons: pd.DataFrame, *, alpha: float = 0.05) -> pd.DataFrame:
    """Models best first: value, place_low, place_high, letters. Nothing is told apart where comparisons have no test.

    >>> table = pd.DataFrame({"first": ["x", "x", "y"], "second": ["y", "z", "z"], "p_holm": [0.2, 0.01, 0.3]})
    >>> ranking_with_ties(pd.Series({"x": 0.7, "y": 0.5, "z": 0.3}), table)["letters"].tolist()
    ['a', 'ab', 'b']
    """
    ordered = values.sort_values(ascending=False, kind="stable")
    models = list(ordered.index)
    apart = comparisons[comparisons["p_holm"] < alpha]
    separated = {frozenset(pair) for pair in zip(apart["first"], apart["second"], strict=True)}
    better, worse = apart["second"].value_counts(), apart["first"].value_counts()
    return pd.DataFrame(
        {
            "model": models,
            "value": ordered.to_numpy(),
            "place_low": [1 + int(better.get(model, 0)) for model in models],
            "place_high": [len(models) - int(worse.get(model, 0)) for model in models],
            "letters": letters(models, separated),
        }
    )


def letters(models: Sequence[str], separated: set[frozenset[str]]) -> list[str]:
    """A word per model: two models share a letter if and only if they are not told apart (Piepho's insert and absorb)."""
    columns: list[frozenset[str]] = [frozenset(models)]
    for pair in sorted(map(sorted, separated)):
        split = [group - {gone} for group in columns if set(pair) <= group for gone in pair]
        columns = [group for group in columns if not set(pair) <= group]
        for group in split:
            if not any(group <= other for other in columns):
                columns = [other for other in columns if not other <= group] + [group]
    place = {model: k for k, model in enumerate(models)}
    columns.sort(key=lambda group: sorted(place[model] for model in group))
    return ["".join(_letter(k) for k, group in enumerate(columns) if model in group) for model in models]


def _letter(k: int) -> str:
    """a to z, then a2, b2 ..."""
    turn, which = divmod(k, len(ascii_lowercase))
    return ascii_lowercase[which] + (str(turn + 1) if turn else "")
