"""Model-level win ratios from pairwise preferences, with cluster-bootstrap intervals.

win ratio of a model = (wins + ties/2) / comparisons with ties="half" (VBench's and MBench's convention), or wins / (wins + losses)
with ties="drop". Whole clusters (scenes) are resampled, since all pairs of a scene share its difficulty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lookback.errors import ContractError, NotScorable, Reason, UsageError
from lookback.stats.bootstrap import FEWEST_CLUSTERS, bootstrap_totals, method_text, varying_interval
from lookback.stats.codes import cluster_codes
from lookback.stats.estimate import Estimate
from lookback.stats.preference import preference_sign
from lookback.stats.share import share_interval

Ties = Literal["half", "drop"]


@dataclass(frozen=True)
class PairCodes:
    """Pairs as codes into `models`."""

    models: list[str]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    clusters: NDArray[np.int64]

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


def win_terms(pairs: PairCodes, signs: NDArray[np.int64], ties: Ties) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
    m = len(codes.models)
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
            ratio, seen = float(points[:, k].sum() / n), len(np.unique(codes.clusters[played[:, k] > 0]))
            low, high, note = share_interval(draws[:, k], ratio, seen, confidence)
            bounds = {"low": np.nan if low is None else low, "high": np.nan if high is None else high}
            row |= {"win_ratio": ratio, **bounds, "reason": note}
        rows.append(row)
    return pd.DataFrame(rows).sort_values(["win_ratio", "model"], ascending=[False, True], ignore_index=True)


def design_effect(
    pairs: pd.DataFrame, cluster: str, *, label: str = "label", ties: Ties = "half", resamples: int = 2000, seed: int = 0
) -> float:
    """How much clustering inflates the variance of the win ratios: bootstrap variance of clusters over that of pairs.

    Both are summed over models; NaN with too few clusters to resample, or where the pairs do not vary.
    """
    codes = pair_codes(pairs, cluster)
    if codes.n_clusters < FEWEST_CLUSTERS:
        return np.nan
    m, terms = len(codes.models), np.hstack(win_terms(codes, preference_sign(pairs[label]), ties))
    together, apart = (
        float(np.nansum(np.nanvar(bootstrap_totals(terms, lambda t: t[:, :m] / t[:, m:], groups, resamples, seed), axis=0)))
        for groups in (codes.clusters, np.arange(len(pairs)))
    )
    return together / apart if apart > 0 else np.nan


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
        raise UsageError(f"no comparison involves {', '.join(unknown)}; the pairs hold {', '.join(codes.models)}")
    points, played = win_terms(codes, preference_sign(pairs[label]), ties)
    chosen = [codes.models.index(first), codes.models.index(second)]
    terms = np.hstack([points[:, chosen], played[:, chosen]])
    total = terms.sum(axis=0)
    if (total[2:] == 0).any():
        raise NotScorable(Reason.UNDEFINED, f"every comparison of {first} or {second} is a tie, and ties are dropped")
    value = float(total[0] / total[2] - total[1] / total[3])
    draws = bootstrap_totals(terms, _difference, codes.clusters, resamples, seed)
    low, high, note = varying_interval(draws, codes.n_clusters, confidence)
    involved = int(((played[:, chosen]).sum(axis=1) > 0).sum())
    method = method_text(resamples, codes.n_clusters, f"{cluster or 'pair'} clusters", seed) + f", ties {ties}"
    se = float(np.nanstd(draws, ddof=1)) if note == "" else None
    return Estimate(f"win ratio {first} - {second}", value, involved, low, high, se, None, confidence, method, note)


def _difference(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    return totals[:, 0] / totals[:, 2] - totals[:, 1] / totals[:, 3]
