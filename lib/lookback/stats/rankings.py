"""Models ranked by preferences: win ratios with cluster-bootstrap intervals, and intervals of places (strengths: `strengths`).

Win ratio = (wins + ties/2) / comparisons with ties="half" (VBench's and MBench's convention), or wins / (wins + losses) with
ties="drop". Whole clusters (scenes) are resampled, since all pairs of a scene share its difficulty.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from lookback.errors import ContractError, NotScorable, Reason, UsageError
from lookback.stats.design import holm
from lookback.stats.intervals import (
    Estimate,
    bootstrap_totals,
    cluster_totals,
    enough_resamples,
    method_text,
    number,
    share_interval,
    varying_interval,
)
from lookback.stats.ratings import Codes, Floats, cluster_codes, preference_sign

Ties = Literal["half", "drop"]


@dataclass(frozen=True)
class PairCodes:
    """Pairs as codes into `models`."""

    models: list[str]
    a: Codes
    b: Codes
    clusters: Codes

    @property
    def n_clusters(self) -> int:
        return int(self.clusters.max()) + 1


def pair_codes(pairs: pd.DataFrame, cluster: str | None) -> PairCodes:
    """Models and clusters of a table of pairs as codes; empty tables, missing columns and self-pairs are errors."""
    needed = ["model_a", "model_b", *([cluster] if cluster else [])]
    lacking = [c for c in needed if c not in pairs]
    if lacking:
        raise UsageError(f"the table of pairs lacks the column(s) {', '.join(lacking)}")
    if len(pairs) == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no pairs to compare models with")
    both = pd.concat([pairs["model_a"], pairs["model_b"]], ignore_index=True)
    models = sorted(both.unique())
    codes = pd.Index(models).get_indexer(pd.Index(both))
    a, b = codes[: len(pairs)], codes[len(pairs) :]
    if (a == b).any():
        name = models[a[np.flatnonzero(a == b)[0]]]
        raise ContractError(f"{int((a == b).sum())} pair(s) compare a model with itself (for example {name!r}); remove them")
    return PairCodes(models, a, b, cluster_codes(pairs[cluster] if cluster else None, len(pairs)))


def win_terms(pairs: PairCodes, signs: Codes, ties: Ties) -> tuple[Floats, Floats]:
    """Per pair: points won by each model and comparisons of each model (pairs x models, twice)."""
    if ties not in get_args(Ties):
        raise UsageError(f"unknown tie rule {ties!r}; choose one of {', '.join(get_args(Ties))}")
    n, rows = len(signs), np.arange(len(signs))
    points, played = np.zeros((n, len(pairs.models))), np.zeros((n, len(pairs.models)))
    counted = np.ones(n) if ties == "half" else (signs != 0).astype(float)
    points[rows, pairs.a] = (signs + 1) / 2 * counted
    points[rows, pairs.b] = (1 - signs) / 2 * counted
    played[rows, pairs.a] = counted
    played[rows, pairs.b] = counted
    return points, played


def clusters_seen(played: Floats, clusters: Codes) -> Codes:
    """In how many clusters each model was compared (`played`: pairs x models). What is said about a model rests on these alone."""
    return np.asarray((cluster_totals(played, clusters) > 0).sum(axis=0))


def win_ratios(
    pairs: pd.DataFrame,
    *,
    label: str = "label",
    ties: Ties = "half",
    cluster: str | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """One row per model, best first: wins, ties, losses, n, win_ratio, low, high, reason.

    `pairs` has model_a, model_b and `label` ("a", "tie", "b" or 1, 0, -1); `cluster` names the column whose values are resampled.

    >>> pairs = pd.DataFrame({"model_a": ["x", "x"], "model_b": ["y", "y"], "label": ["a", "tie"]})
    >>> win_ratios(pairs)[["model", "win_ratio"]].values.tolist()
    [['x', 0.75], ['y', 0.25]]
    """
    codes = pair_codes(pairs, cluster)
    signs = preference_sign(pairs[label])
    points, played = win_terms(codes, signs, ties)
    m, seen = len(codes.models), clusters_seen(played, codes.clusters)
    resamples = max(enough_resamples(resamples, int(count), confidence) for count in seen)
    draws = bootstrap_totals(np.hstack([points, played]), lambda t: t[:, :m] / t[:, m:], codes.clusters, resamples, seed)
    rows = []
    for k, model in enumerate(codes.models):
        is_a, is_b = codes.a == k, codes.b == k
        wins = int((is_a & (signs == 1)).sum() + (is_b & (signs == -1)).sum())
        losses = int((is_a & (signs == -1)).sum() + (is_b & (signs == 1)).sum())
        row = {"model": model, "wins": wins, "ties": int(((is_a | is_b) & (signs == 0)).sum()), "losses": losses}
        n = float(played[:, k].sum())
        row |= {"n": int(n), "win_ratio": np.nan, "low": np.nan, "high": np.nan, "reason": ""}
        if n == 0:
            row["reason"] = f"{Reason.UNDEFINED}: every comparison of this model is a tie, and ties are dropped"
        else:
            ratio = float(points[:, k].sum() / n)
            low, high, note = share_interval(draws[:, k], ratio, int(seen[k]), confidence)
            row |= {"win_ratio": ratio, "low": number(low), "high": number(high), "reason": note}
        rows.append(row)
    return pd.DataFrame(rows).sort_values(["win_ratio", "model"], ascending=[False, True], ignore_index=True)


def win_ratio_difference(
    pairs: pd.DataFrame,
    first: str,
    second: str,
    *,
    label: str = "label",
    ties: Ties = "half",
    cluster: str | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Win ratio of `first` minus win ratio of `second`, each over all its comparisons, with a cluster-bootstrap interval."""
    codes = pair_codes(pairs, cluster)
    unknown = [m for m in (first, second) if m not in codes.models]
    if unknown:
        raise UsageError(f"no comparison involves {listed(unknown)}; the pairs hold {listed(codes.models)}")
    points, played = win_terms(codes, preference_sign(pairs[label]), ties)
    chosen = [codes.models.index(first), codes.models.index(second)]
    terms = np.hstack([points[:, chosen], played[:, chosen]])
    total = terms.sum(axis=0)
    if (total[2:] == 0).any():
        raise NotScorable(Reason.UNDEFINED, f"every comparison of {first} or {second} is a tie, and ties are dropped")
    value = float(total[0] / total[2] - total[1] / total[3])
    seen = int(clusters_seen(played[:, chosen], codes.clusters).min())
    resamples = enough_resamples(resamples, seen, confidence)
    draws = bootstrap_totals(terms, _difference, codes.clusters, resamples, seed)
    low, high, note = varying_interval(draws, value, seen, confidence)
    involved = int(((played[:, chosen]).sum(axis=1) > 0).sum())
    method = method_text(resamples, codes.n_clusters, f"{cluster or 'pair'} clusters", seed) + f", ties {ties}"
    se = float(np.nanstd(draws, ddof=1)) if note == "" else None
    return Estimate(f"win ratio {first} - {second}", value, involved, low, high, se, None, confidence, method, note)


def listed(models: Iterable[object]) -> str:
    """Names of models in a sentence; they may be numbers."""
    return ", ".join(map(str, models))


def _difference(totals: Floats) -> Floats:
    return totals[:, 0] / totals[:, 2] - totals[:, 1] / totals[:, 3]


def rank_intervals(estimates: ArrayLike, standard_errors: ArrayLike, *, confidence: float = 0.95) -> pd.DataFrame:
    """Places (1 is the largest) `low` to `high` that hold for all models at once with at least this confidence.

    A model's best place is 1 + how many are shown to be larger, its worst m - how many are shown to be smaller. Two models are
    told apart by one-sided z tests of their difference, Holm-corrected over all ordered pairs. Source: Mogstad, Romano, Shaikh &
    Wilhelm (2024), Rev. Econ. Stud. 91:476-518; their stepwise sets with Holm's critical values, which need no raw data. Assumes
    independent, nearly normal estimates. Estimates with a positive correlation (means over the same clips) are told apart too
    rarely, those with a negative one (win ratios of models compared with each other) too often: for these use
    `comparisons.win_ratio_comparisons`.

    >>> rank_intervals([0.9, 0.5, 0.45], [0.05, 0.05, 0.05]).to_numpy().tolist()
    [[1, 1], [2, 3], [2, 3]]
    """
    value, error = np.asarray(estimates, dtype=float), np.asarray(standard_errors, dtype=float)
    if (
        value.ndim != 1
        or value.shape != error.shape
        or not np.isfinite(value).all()
        or not (np.isfinite(error) & (error > 0)).all()
    ):
        raise UsageError("places need one finite estimate and one standard error above zero per model")
    m, ordered = len(value), ~np.eye(len(value), dtype=bool)
    p = stats.norm.sf(np.subtract.outer(value, value) / np.sqrt(np.add.outer(error**2, error**2)))
    above = np.zeros((m, m), dtype=bool)
    above[ordered] = np.asarray(holm(p[ordered])) < 1 - confidence
    return pd.DataFrame({"low": 1 + above.sum(axis=0), "high": m - above.sum(axis=1)})
