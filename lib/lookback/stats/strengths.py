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
from lookback.stats.jackknife import Estimates, cell_codes, jackknife_covariance
from lookback.stats.rankings import PairCodes, clusters_seen, listed, pair_codes, win_terms
from lookback.stats.ratings import Codes, Floats, cluster_codes, preference_sign

MAX_STEPS = 100
CONVERGED = 1e-10


@dataclass(frozen=True)
class Strengths:
    """`table`: model, log_strength (mean 0), se, low, high, win_probability (against an average model, ties aside), rank.

    `covariance` is that over the clusters where there are some (annotators aside).
    `estimates`: the strengths with parts of the votes left out, where there are clusters. `note` says why there are no standard
    errors, or why they are rough.
    """

    table: pd.DataFrame
    covariance: pd.DataFrame
    tie: float
    n: int
    estimates: Estimates | None = None
    note: str = ""


def bradley_terry(
    pairs: pd.DataFrame,
    *,
    label: str = "label",
    ties: Literal["davidson", "drop"] = "davidson",
    cluster: str | None = None,
    annotator: str | None = None,
    confidence: float = 0.95,
) -> Strengths:
    """Maximum-likelihood strengths of pairs (model_a, model_b, label).

    With `cluster` the standard errors leave out one cluster at a time, with `annotator` one annotator and one cell too (see
    `jackknife`); t then has one degree of freedom less than clusters show the model, or annotators saw it. A model in one cluster
    has no standard error.
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
    votes = _votes(codes, signs, has_ties)
    parameters, information, expected = _newton(votes)
    m, tie = len(codes.models), float(np.exp(parameters[-1])) if has_ties else 0.0
    strength = _basis(m) @ parameters[: m - 1]
    if cluster is None:
        free = np.linalg.inv(np.tensordot(votes.counts().sum(axis=(0, 2)), information, 1))[: m - 1, : m - 1]
        covariance = _basis(m) @ free @ _basis(m).T
        se = np.sqrt(np.diag(covariance))
        half = stats.norm.ppf(0.5 + confidence / 2) * se
        columns = {"value": strength, "se": se, "low": strength - half, "high": strength + half}
        table = _ranked(pd.DataFrame({"model": codes.models, **columns}))
        return Strengths(table, _named(covariance, codes.models), tie, len(signs))
    groupings = [codes.clusters]
    if annotator is not None:
        who = cluster_codes(pairs[annotator], len(pairs))
        groupings += [who, cell_codes(codes.clusters, who)]
    played = win_terms(codes, signs, "half")[1]
    moved = (_steps(votes, information, expected, played, groups)[:, : m - 1] for groups in groupings)
    without = tuple(strength - steps @ _basis(m).T for steps in moved)
    seen = np.min([clusters_seen(played, groups) for groups in groupings[:2]], axis=0)
    estimates = Estimates(codes.models, strength, without, seen, min(int(groups.max()) + 1 for groups in groupings[:2]))
    note = _few_clusters(codes, seen, len(parameters), cluster)
    covariance = jackknife_covariance(without[0])
    table = _ranked(estimates.table(confidence))
    return Strengths(table, _named(covariance, codes.models), tie, len(signs), estimates, note)


def _steps(votes: _Votes, information: Floats, expected: Floats, played: Floats, groups: Codes) -> Floats:
    """The Newton steps (groups x parameters) (I - I_g)^-1 s_g from the fit of everything to that without each group.

    A model in one group alone stays where it is when that group goes, which leaves the other models' differences right. NaN where
    the rest falls apart otherwise.
    """
    counts, free = votes.counts(groups), information.shape[-1]
    asked = counts.sum(axis=2)
    scores = np.tensordot(counts, votes.design, 2) - asked @ expected
    rest = np.tensordot(asked.sum(axis=0) - asked, information, 1)
    shown = cluster_totals(played, groups) > 0
    gone = (shown & (shown.sum(axis=0) == 1)).sum(axis=1)
    if len(counts) < 2 or (np.linalg.matrix_rank(rest, hermitian=True) + gone < free).any():
        return np.full((len(counts), free), np.nan)
    return np.asarray((np.linalg.pinv(rest, hermitian=True) @ scores[..., None])[..., 0])


def _few_clusters(codes: PairCodes, seen: Codes, free: int, cluster: str) -> str:
    if note := too_few_clusters(codes.n_clusters):
        return f"no standard errors by {cluster}: {note}"
    notes = []
    if rare := [model for model, count in zip(codes.models, seen, strict=True) if count < FEWEST_CLUSTERS]:
        why = f"which one cluster ({cluster}) alone shows; the others' are rough, since all share one mean"
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


@dataclass(frozen=True)
class _Votes:
    """Every vote as a pair of models and an outcome; `design`: linear predictors (pairs x outcome a/b/tie x parameters)."""

    design: Floats
    pair: Codes
    outcome: Codes

    def counts(self, groups: Codes | None = None) -> Floats:
        """How many votes of each group there are on each pair with each outcome (groups x pairs x outcomes)."""
        groups = np.zeros_like(self.pair) if groups is None else groups
        shape = (int(groups.max()) + 1, *self.design.shape[:2])
        return (
            np.bincount(np.ravel_multi_index((groups, self.pair, self.outcome), shape), minlength=np.prod(shape)).reshape(shape)
            * 1.0
        )


def _votes(codes: PairCodes, signs: Codes, has_ties: bool) -> _Votes:
    m = len(codes.models)
    met, pair = np.unique(codes.a * m + codes.b, return_inverse=True)
    a, b, basis = met // m, met % m, _basis(m)
    design = np.zeros((len(met), 3 if has_ties else 2, m - 1 + has_ties))
    design[:, 0, : m - 1] = basis[a]
    design[:, 1, : m - 1] = basis[b]
    if has_ties:
        design[:, 2, : m - 1] = (basis[a] + basis[b]) / 2
        design[:, 2, m - 1] = 1.0
    return _Votes(design, pair, np.where(signs == 1, 0, np.where(signs == -1, 1, 2)))


def _newton(votes: _Votes) -> tuple[Floats, Floats, Floats]:
    """Newton steps on the concave log-likelihood: parameters, and of one vote on each pair its information and expected design."""
    design, counts = votes.design, votes.counts()[0]
    parameters, seen, asked = np.zeros(design.shape[2]), np.tensordot(counts, design, 2), counts.sum(axis=1)
    for _ in range(MAX_STEPS):
        predictor = design @ parameters
        share = np.exp(predictor - predictor.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        mean = np.einsum("no,nop->np", share, design)
        information = np.einsum("no,nop,noq->npq", share, design, design) - mean[:, :, None] * mean[:, None, :]
        try:
            step = np.linalg.solve(np.tensordot(asked, information, 1), seen - asked @ mean)
        except np.linalg.LinAlgError:
            break
        parameters = parameters + step / max(1.0, float(np.abs(step).max()) / 2)
        if np.abs(step).max() < CONVERGED:
            return parameters, information, mean
    raise NotScorable(Reason.UNDEFINED, f"the strengths did not settle within {MAX_STEPS} Newton steps")


def _ranked(table: pd.DataFrame) -> pd.DataFrame:
    table = table.rename(columns={"value": "log_strength"}).assign(win_probability=lambda t: 1 / (1 + np.exp(-t["log_strength"])))
    table["rank"] = table["log_strength"].rank(ascending=False, method="min").astype(int)
    return table.sort_values("rank", ignore_index=True)


def _named(covariance: Floats, models: list[str]) -> pd.DataFrame:
    return pd.DataFrame(covariance, index=pd.Index(models), columns=pd.Index(models))


def _basis(m: int) -> Floats:
    """Strengths from the free ones: the last is minus the sum of the others."""
    return np.vstack([np.eye(m - 1), -np.ones(m - 1)])
