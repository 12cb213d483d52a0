"""Models compared with each other: differences with intervals and Holm's correction, and a ranking with ties.

Two scales: win ratios, and Davidson strengths (see `strengths`). Both get their errors from leaving out one cluster (scene) at a
time, V = (G - 1)/G sum_g (d_g - mean d)(d_g - mean d)', d_g being the estimates without cluster g. That is less narrow than
linearised errors when clusters are few (Bell & McCaffrey 2002, Survey Methodology 28:169-181). Win ratios are computed anew without
the cluster. Strengths take one Newton step from the fit of all clusters. A difference is known as well as its rarer model: where g
clusters show that model, t has g - 1 degrees of freedom, and with g below five there is no claim.

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

from lookback.errors import NotScorable, Reason
from lookback.stats.design import holm
from lookback.stats.intervals import FEWEST_CLUSTERS, UNVARIED, cluster_totals
from lookback.stats.rankings import Ties, pair_codes, win_terms
from lookback.stats.ratings import Codes, Floats, preference_sign
from lookback.stats.strengths import bradley_terry

COLUMNS = ["first", "second", "difference", "se", "low", "high", "p", "p_holm", "n_clusters", "reason"]


def jackknife_covariance(without: Floats) -> Floats:
    """Covariance of estimates from their values without each cluster (..., clusters x k)."""
    groups = without.shape[-2]
    centred = without - without.mean(axis=-2, keepdims=True)
    return np.asarray((groups - 1) / groups * np.swapaxes(centred, -1, -2) @ centred)


def ratios_without(points: Floats, played: Floats) -> Floats:
    """Ratios of totals (..., clusters x models) with each cluster left out in turn; NaN where nothing remains."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((points.sum(axis=-2, keepdims=True) - points) / (played.sum(axis=-2, keepdims=True) - played))


def win_ratio_comparisons(
    pairs: pd.DataFrame, cluster: str, *, label: str = "label", ties: Ties = "half", confidence: float = 0.95
) -> pd.DataFrame:
    """One row per pair of models, the better one first: difference of their win ratios, interval, p, Holm's p, or the reason.

    Where every cluster gives the same difference there is no interval, and p is that of a sign test over the clusters.
    """
    codes = pair_codes(pairs, cluster)
    points, played = (cluster_totals(part, codes.clusters) for part in win_terms(codes, preference_sign(pairs[label]), ties))
    if (played.sum(axis=0) == 0).any():
        missing = codes.models[int(np.argmin(played.sum(axis=0)))]
        raise NotScorable(Reason.UNDEFINED, f"every comparison of {missing} is a tie, and ties are dropped")
    values = points.sum(axis=0) / played.sum(axis=0)
    covariance = jackknife_covariance(ratios_without(points, played))
    return _compared(codes.models, values, covariance, (played > 0).sum(axis=0), codes.n_clusters, confidence)


def strength_comparisons(
    pairs: pd.DataFrame,
    cluster: str,
    *,
    label: str = "label",
    ties: Literal["davidson", "drop"] = "davidson",
    confidence: float = 0.95,
) -> pd.DataFrame:
    """The same for differences of Davidson log strengths; NotScorable where the strengths do not exist."""
    fit = bradley_terry(pairs, label=label, ties=ties, cluster=cluster, confidence=confidence, errors="jackknife")
    values = fit.table.set_index("model")["log_strength"].loc[fit.covariance.index].to_numpy()
    groups = pairs[cluster].nunique()
    return _compared(list(fit.covariance.index), values, fit.covariance.to_numpy(), fit.seen.to_numpy(), groups, confidence)


def _compared(
    models: Sequence[str], values: Floats, covariance: Floats, seen: Codes, groups: int, confidence: float
) -> pd.DataFrame:
    rows = []
    for i, j in combinations(np.argsort(-values, kind="stable"), 2):
        rarer = min(i, j, key=seen.__getitem__)
        few = f"{groups} clusters only" if groups < FEWEST_CLUSTERS else f"{models[rarer]} is in {seen[rarer]} of {groups} clusters"
        difference = float(values[i] - values[j])
        variance = float(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j])
        tested = _tested(difference, variance, int(seen[rarer]), few, confidence)
        rows.append({"first": models[i], "second": models[j], "difference": difference, **tested, "n_clusters": seen[rarer]})
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
    """Two-sided p of differences whose rarer model is in `seen` clusters, by t; NaN below five clusters or without a variance.

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
