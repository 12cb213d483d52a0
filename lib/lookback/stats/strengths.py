"""Strengths of models from preferences: Bradley and Terry's model with Davidson's ties, by maximum likelihood.

Strengths pi_i = exp(lambda_i), sum lambda_i = 0, with Davidson's tie parameter nu:
    P(i beats j) = pi_i / (pi_i + pi_j + nu sqrt(pi_i pi_j)),  P(tie) = nu sqrt(pi_i pi_j) / (same).
Sources: Bradley & Terry (1952), Davidson (1970, JASA 65:317-328). Without ties nu = 0 and the model is Bradley and Terry's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from scipy import stats
from scipy.sparse.csgraph import NegativeCycleError, bellman_ford, connected_components

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.intervals import FEWEST_CLUSTERS, cluster_totals, too_few_clusters
from lookback.stats.rankings import PairCodes, clusters_seen, listed, pair_codes, win_terms
from lookback.stats.ratings import Codes, Floats, preference_sign

MAX_STEPS = 100
CONVERGED = 1e-10


@dataclass(frozen=True)
class Strengths:
    """`table`: model, log_strength (mean 0), se, low, high, win_probability (against an average model, ties aside), rank.

    `seen`: in how many clusters (without clusters: pairs) each model was compared. `note` says why there are no standard errors,
    or why they are rough.
    """

    table: pd.DataFrame
    covariance: pd.DataFrame
    tie: float
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
    parameters, parts, scores = _newton(design, outcome)
    covariance = np.asarray(np.linalg.inv(parts.sum(axis=0)), dtype=float)
    tail, note, seen = 0.5 + confidence / 2, "", clusters_seen(win_terms(codes, signs, "half")[1], codes.clusters)
    quantile = np.full(len(codes.models), stats.norm.ppf(tail))
    if cluster is not None:
        note = _few_clusters(codes, seen, len(parameters), cluster)
        covariance = _clustered(covariance, scores, codes) if errors == "sandwich" else _jackknifed(parts, scores, codes)
        quantile = np.where(seen < FEWEST_CLUSTERS, np.nan, stats.t.ppf(tail, seen - 1))
    return _strengths(codes.models, parameters, covariance, has_ties, len(signs), quantile, seen, note)


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
        notes.append(f"no standard error of {listed(rare)}, {why}")
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
            raise NotScorable(reason, words.format(listed(codes.models[i] for i in np.flatnonzero(member == smallest))))
    if even.any():
        _check_ties(cost, codes.models)


def _check_ties(cost: Floats, models: list[str]) -> None:
    try:
        height = bellman_ford(cost, indices=0)
    except NegativeCycleError:
        return
    levels = [listed(models[i] for i in np.flatnonzero(height == level)) for level in sorted(set(height), reverse=True)]
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


def _newton(design: Floats, outcome: Codes) -> tuple[Floats, Floats, Floats]:
    """Newton steps on the concave log-likelihood: (parameters, information per pair, scores per pair)."""
    parameters = np.zeros(design.shape[2])
    seen = design[np.arange(len(outcome)), outcome]
    for _ in range(MAX_STEPS):
        predictor = design @ parameters
        share = np.exp(predictor - predictor.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        mean = np.einsum("no,nop->np", share, design)
        scores = seen - mean
        parts = np.einsum("no,nop,noq->npq", share, design, design) - mean[:, :, None] * mean[:, None, :]
        try:
            step = np.linalg.solve(parts.sum(axis=0), scores.sum(axis=0))
        except np.linalg.LinAlgError:
            break
        parameters = parameters + step / max(1.0, float(np.abs(step).max()) / 2)
        if np.abs(step).max() < CONVERGED:
            return parameters, parts, scores
    raise NotScorable(Reason.UNDEFINED, f"the strengths did not settle within {MAX_STEPS} Newton steps")


def _strengths(
    models: list[str],
    parameters: Floats,
    covariance: Floats,
    has_ties: bool,
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
    return Strengths(table.sort_values("rank", ignore_index=True), named, tie, n, counts, note)
