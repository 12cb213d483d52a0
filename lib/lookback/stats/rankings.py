"""Models ranked by preferences: win ratios with cluster-bootstrap intervals, Bradley-Terry strengths, intervals of places.

Win ratio = (wins + ties/2) / comparisons with ties="half" (VBench's and MBench's convention), or wins / (wins + losses) with
ties="drop". Whole clusters (scenes) are resampled, since all pairs of a scene share its difficulty.

Strengths pi_i = exp(lambda_i), sum lambda_i = 0, with Davidson's tie parameter nu:
    P(i beats j) = pi_i / (pi_i + pi_j + nu sqrt(pi_i pi_j)),  P(tie) = nu sqrt(pi_i pi_j) / (same).
Sources: Bradley & Terry (1952), Davidson (1970, JASA 65:317-328). Without ties nu = 0 and the model is Bradley and Terry's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats
from scipy.sparse.csgraph import NegativeCycleError, bellman_ford, connected_components

from lookback.errors import ContractError, NotScorable, Reason, UsageError
from lookback.stats.design import holm
from lookback.stats.intervals import (
    FEWEST_CLUSTERS,
    Estimate,
    bootstrap_totals,
    cluster_totals,
    method_text,
    number,
    share_interval,
    too_few_clusters,
    varying_interval,
)
from lookback.stats.ratings import Codes, Floats, cluster_codes, preference_sign

Ties = Literal["half", "drop"]
MAX_STEPS = 100
CONVERGED = 1e-10


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

    def variance(groups: Codes) -> float:
        draws = bootstrap_totals(terms, lambda t: t[:, :m] / t[:, m:], groups, resamples, seed)
        return float(np.nanvar(draws[:, np.isfinite(draws).any(axis=0)], axis=0).sum())  # a model that only ties has no ratio

    together, apart = variance(codes.clusters), variance(np.arange(len(pairs)))
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
        raise UsageError(f"no comparison involves {_listed(unknown)}; the pairs hold {_listed(codes.models)}")
    points, played = win_terms(codes, preference_sign(pairs[label]), ties)
    chosen = [codes.models.index(first), codes.models.index(second)]
    terms = np.hstack([points[:, chosen], played[:, chosen]])
    total = terms.sum(axis=0)
    if (total[2:] == 0).any():
        raise NotScorable(Reason.UNDEFINED, f"every comparison of {first} or {second} is a tie, and ties are dropped")
    value = float(total[0] / total[2] - total[1] / total[3])
    draws = bootstrap_totals(terms, _difference, codes.clusters, resamples, seed)
    seen = int(clusters_seen(played[:, chosen], codes.clusters).min())
    low, high, note = varying_interval(draws, seen, confidence)
    involved = int(((played[:, chosen]).sum(axis=1) > 0).sum())
    method = method_text(resamples, codes.n_clusters, f"{cluster or 'pair'} clusters", seed) + f", ties {ties}"
    se = float(np.nanstd(draws, ddof=1)) if note == "" else None
    return Estimate(f"win ratio {first} - {second}", value, involved, low, high, se, None, confidence, method, note)


def _listed(models: Iterable[object]) -> str:
    return ", ".join(map(str, models))


def _difference(totals: Floats) -> Floats:
    return totals[:, 0] / totals[:, 2] - totals[:, 1] / totals[:, 3]


@dataclass(frozen=True)
class Strengths:
    """`table`: model, log_strength (mean 0), se, low, high, win_probability (against an average model, ties aside), rank.

    `seen`: in how many clusters (without clusters: pairs) each model was compared. `note` says why there are no standard errors,
    or why they are rough.
    """

    table: pd.DataFrame
    covariance: pd.DataFrame
    tie: float
    log_likelihood: float
    n: int
    seen: pd.Series
    note: str = ""


def bradley_terry(
    pairs: pd.DataFrame,
    *,
    label: str = "label",
    ties: Literal["davidson", "drop"] = "davidson",
    cluster: str | None = None,
    confidence: float = 0.95,
    errors: Literal["sandwich", "jackknife"] = "sandwich",
) -> Strengths:
    """Maximum-likelihood strengths of pairs (model_a, model_b, label); with `cluster` the standard errors are cluster-robust.

    A model's interval then uses t with (clusters that show it - 1) degrees of freedom; one that fewer than five clusters show has
    no standard error.
    With few clusters `errors` "jackknife" (one Newton step without each cluster) are less narrow than the "sandwich".
    Where the fit does not exist, NotScorable says which models never met the others or are separated from them.
    """
    if ties not in ("davidson", "drop"):
        raise UsageError(f"unknown tie rule {ties!r}; choose davidson or drop")
    signs = preference_sign(pairs[label])
    if ties == "drop":
        pairs, signs = pairs[signs != 0], signs[signs != 0]
    codes = pair_codes(pairs, cluster)
    if not (signs != 0).any():
        raise NotScorable(
            Reason.UNDEFINED, "every comparison is a tie: the tie parameter is infinite and no strength is told apart"
        )
    _check_fit_exists(codes, signs)
    has_ties = bool((signs == 0).any())
    design = _design(codes, has_ties)
    outcome = np.where(signs == 1, 0, np.where(signs == -1, 1, 2))
    parameters, parts, likelihood, scores = _newton(design, outcome)
    covariance = np.asarray(np.linalg.inv(parts.sum(axis=0)), dtype=float)
    tail, note, seen = 0.5 + confidence / 2, "", clusters_seen(win_terms(codes, signs, "half")[1], codes.clusters)
    quantile = np.full(len(codes.models), stats.norm.ppf(tail))
    if cluster is not None:
        note = _few_clusters(codes, seen, len(parameters), cluster)
        covariance = _clustered(covariance, scores, codes) if errors == "sandwich" else _jackknifed(parts, scores, codes)
        quantile = np.where(seen < FEWEST_CLUSTERS, np.nan, stats.t.ppf(tail, seen - 1))
    return _strengths(codes.models, parameters, covariance, has_ties, likelihood, len(signs), quantile, seen, note)


def _clustered(inverse: Floats, scores: Floats, codes: PairCodes) -> Floats:
    """The sandwich covariance; NaN with too few clusters (a single cluster's scores even sum to zero at the fit)."""
    if too_few_clusters(codes.n_clusters):
        return np.full_like(inverse, np.nan)
    sums = cluster_totals(scores, codes.clusters)
    return np.asarray(inverse @ (sums.T @ sums) @ inverse * codes.n_clusters / (codes.n_clusters - 1))


def _jackknifed(parts: Floats, scores: Floats, codes: PairCodes) -> Floats:
    """(G - 1)/G sum of the squared steps (I - I_g)^-1 s_g that the fit takes when cluster g is left out; NaN where it cannot be."""
    groups, free = codes.n_clusters, scores.shape[1]
    sums = cluster_totals(scores, codes.clusters)
    own = cluster_totals(parts.reshape(len(parts), -1), codes.clusters).reshape(groups, free, free)
    rest = own.sum(axis=0) - own
    if groups < 2 or np.linalg.matrix_rank(rest).min() < free:
        return np.full((free, free), np.nan)
    steps = np.linalg.solve(rest, sums[..., None])[..., 0]
    centred = steps - steps.mean(axis=0)
    return np.asarray((groups - 1) / groups * centred.T @ centred)


def _few_clusters(codes: PairCodes, seen: Codes, free: int, cluster: str) -> str:
    if note := too_few_clusters(codes.n_clusters):
        return f"no standard errors by {cluster}: {note}"
    notes = []
    if rare := [model for model, count in zip(codes.models, seen, strict=True) if count < FEWEST_CLUSTERS]:
        why = f"which fewer than {FEWEST_CLUSTERS} clusters ({cluster}) show; the others' are rough, since all share one mean"
        notes.append(f"no standard error of {_listed(rare)}, {why}")
    if codes.n_clusters <= free:
        notes.append(f"standard errors are rough: {codes.n_clusters} clusters ({cluster}) for {free} free parameters")
    return "; ".join(notes)


def _check_fit_exists(codes: PairCodes, signs: Codes) -> None:
    """Raise NotScorable where the likelihood has no maximum, decided by the results alone and never by rounding.

    Ford (1957): it has one only if every model can be reached from every other by steps "beat" or "tied with". With ties the
    tie parameter may run to infinity together with the strengths. Scaled to one, that direction needs strengths d with
    d_i - d_j >= 1 for every win of i over j and |d_i - d_j| <= 1 for every tie. They exist unless some cycle of results has
    more wins than ties, which is a negative cycle for Bellman and Ford's shortest paths (a win costs -1, a tie +1).
    """
    m, even, won = len(codes.models), signs == 0, np.where(signs == 1, codes.a, codes.b)
    lost = codes.a + codes.b - won
    cost = np.full((m, m), np.inf)
    cost[codes.a[even], codes.b[even]] = cost[codes.b[even], codes.a[even]] = 1.0
    cost[won[~even], lost[~even]] = -1.0
    results = np.isfinite(cost)
    for connection, reason, words in (
        ("weak", Reason.DISCONNECTED, "{} never met the others, directly or through a third model: strengths are not comparable"),
        ("strong", Reason.SEPARATED, "{} won everything or lost everything against the others: strengths are infinite"),
    ):
        parts, member = connected_components(results, directed=True, connection=connection)
        if parts > 1:
            smallest = int(np.argmin(np.bincount(member)))
            raise NotScorable(reason, words.format(_listed(codes.models[i] for i in np.flatnonzero(member == smallest))))
    if even.any():
        _check_ties(cost, codes.models)


def _check_ties(cost: Floats, models: list[str]) -> None:
    try:
        height = bellman_ford(cost, indices=0)
    except NegativeCycleError:
        return
    levels = [_listed(models[i] for i in np.flatnonzero(height == level)) for level in sorted(set(height), reverse=True)]
    order = " above ".join(levels[:6]) + (" above others" if len(levels) > 6 else "")
    raise NotScorable(Reason.SEPARATED, f"no result contradicts the order {order}: strengths and tie parameter are infinite")


def _design(codes: PairCodes, has_ties: bool) -> Floats:
    """Linear predictors (pairs x outcome a/b/tie x parameters); the last model's strength is minus the sum of the others'."""
    m = len(codes.models)
    basis = np.vstack([np.eye(m - 1), -np.ones(m - 1)])
    design = np.zeros((len(codes.a), 3 if has_ties else 2, m - 1 + has_ties))
    design[:, 0, : m - 1] = basis[codes.a]
    design[:, 1, : m - 1] = basis[codes.b]
    if has_ties:
        design[:, 2, : m - 1] = (basis[codes.a] + basis[codes.b]) / 2
        design[:, 2, m - 1] = 1.0
    return design


def _newton(design: Floats, outcome: Codes) -> tuple[Floats, Floats, float, Floats]:
    """Newton steps on the concave log-likelihood: (parameters, information per pair, log-likelihood, scores per pair)."""
    parameters = np.zeros(design.shape[2])
    seen = design[np.arange(len(outcome)), outcome]
    for _ in range(MAX_STEPS):
        predictor = design @ parameters
        peak = predictor.max(axis=1, keepdims=True)
        share = np.exp(predictor - peak)
        total = share.sum(axis=1, keepdims=True)
        share /= total
        mean = np.einsum("no,nop->np", share, design)
        scores = seen - mean
        parts = np.einsum("no,nop,noq->npq", share, design, design) - mean[:, :, None] * mean[:, None, :]
        try:
            step = np.linalg.solve(parts.sum(axis=0), scores.sum(axis=0))
        except np.linalg.LinAlgError:
            break
        parameters = parameters + step / max(1.0, float(np.abs(step).max()) / 2)
        if np.abs(step).max() < CONVERGED:
            likelihood = float((predictor[np.arange(len(outcome)), outcome] - peak[:, 0] - np.log(total[:, 0])).sum())
            return parameters, parts, likelihood, scores
    raise NotScorable(Reason.UNDEFINED, f"the strengths did not settle within {MAX_STEPS} Newton steps")


def _strengths(
    models: list[str],
    parameters: Floats,
    covariance: Floats,
    has_ties: bool,
    likelihood: float,
    n: int,
    quantile: Floats,
    seen: Codes,
    note: str,
) -> Strengths:
    m = len(models)
    basis = np.vstack([np.eye(m - 1), -np.ones(m - 1)])
    strength = basis @ parameters[: m - 1]
    spread = basis @ covariance[: m - 1, : m - 1] @ basis.T
    se = np.where(np.isnan(quantile), np.nan, np.sqrt(np.maximum(np.diag(spread), 0.0)))
    half = quantile * se
    table = pd.DataFrame(
        {
            "model": models,
            "log_strength": strength,
            "se": se,
            "low": strength - half,
            "high": strength + half,
            "win_probability": 1 / (1 + np.exp(-strength)),
        }
    )
    table["rank"] = table["log_strength"].rank(ascending=False, method="min").astype(int)
    tie = float(np.exp(parameters[-1])) if has_ties else 0.0
    names = pd.Index(models)
    named, counts = pd.DataFrame(spread, index=names, columns=names), pd.Series(seen, index=names)
    return Strengths(table.sort_values("rank", ignore_index=True), named, tie, likelihood, n, counts, note)


def rank_intervals(estimates: ArrayLike, standard_errors: ArrayLike, *, confidence: float = 0.95) -> pd.DataFrame:
    """Places (1 is the largest) `low` to `high` that hold for all models at once with at least this confidence.

    A model's best place is 1 + how many are shown to be larger, its worst m - how many are shown to be smaller. Two models are
    told apart by one-sided z tests of their difference, Holm-corrected over all ordered pairs. Source: Mogstad, Romano, Shaikh &
    Wilhelm (2024), Rev. Econ. Stud. 91:476-518; their stepwise sets with Holm's critical values, which need no raw data. Assumes
    independent, nearly normal estimates; estimates that share their clips are told apart too rarely, never too often.

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
