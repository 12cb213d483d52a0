"""Decisions of a metric or a judge against people's labels: pair by pair (bridge), yes or no (trigger, judgeability).

The bridge: per pair, y in {-1, 0, 1} is the human label and Delta = M(A) - M(B). Rank alignment is in `association`. The
decision check thresholds Delta with a tie band tau fixed in advance, and counts agreement and reversals (people say A, the metric
says B). Source: WRBench 3.5, eq. 10, and appendix G.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lookback.errors import ContractError, NotScorable, Reason, UsageError
from lookback.stats.agreement import WeightKind, agreement_weights, cohen_kappa, gwet_ac1, resampled_kappa
from lookback.stats.correlations import tie_ceiling
from lookback.stats.intervals import (
    SHARE,
    Estimate,
    bootstrap_totals,
    enough_resamples,
    measure_row,
    method_text,
    number,
    share,
    varying_interval,
)
from lookback.stats.ratings import Flags, Floats, cluster_codes, confusion_counts, preference_sign, threshold_decision

Found = TypeVar("Found")
SIGN_ORDER = (-1, 0, 1)
ESTIMATES = ("exact", "strict", "tie", "decision_kappa", "weighted_kappa", "reversal_rate")
TP, FP, FN, TN = range(4)
BOTH = (0.0, 1.0)  # no, yes
# 1 and 0 are keys too: they equal and hash as True and False
TRUTHS = {True: True, False: False, "yes": True, "no": False}


@dataclass(frozen=True)
class Bridge:
    """Pair-level agreement of a metric with people; an entry that has no value is None and `reasons` says why.

    exact: decision = label. strict: the same where people saw a difference. tie: the same where people saw none.
    `confusion` has people's labels as rows and the metric's decisions as columns, in the order -1, 0, 1.
    `tie_ceiling` is the rho of an untied score that orders the labels without a fault: it knows of ties alone, not of noise.
    """

    n: int
    tau: float
    tie_ceiling: float | None
    exact: Estimate
    strict: Estimate | None
    tie: Estimate | None
    decision_kappa: Estimate | None
    weighted_kappa: Estimate | None
    reversals: int
    reversal_rate: Estimate
    confusion: pd.DataFrame
    reasons: dict[str, str]

    def as_row(self) -> dict[str, object]:
        """One flat table row; missing values are NaN with their reason in `reason`."""
        row: dict[str, object] = {"n": self.n, "tau": self.tau, "reversals": self.reversals}
        for name in ESTIMATES:
            estimate = getattr(self, name)
            row[name] = np.nan if estimate is None else estimate.value
            row[f"{name}_low"] = np.nan if estimate is None else number(estimate.low)
            row[f"{name}_high"] = np.nan if estimate is None else number(estimate.high)
        row["tie_ceiling"] = number(self.tie_ceiling)
        row["reason"] = "; ".join(f"{name}: {reason}" for name, reason in self.reasons.items())
        row["note"] = self._notes()
        return row

    def _notes(self) -> str:
        """Why estimates have no bounds, each sentence once with the estimates it is about."""
        about: dict[str, list[str]] = {}
        for name in ESTIMATES:
            estimate = getattr(self, name)
            if estimate is not None and estimate.note:
                about.setdefault(estimate.note, []).append(name)
        return "; ".join(f"{', '.join(names)}: {note}" for note, names in about.items())


def bridge(
    labels: ArrayLike,
    deltas: ArrayLike,
    tau: float,
    *,
    clusters: ArrayLike | None = None,
    symmetric: bool = False,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Bridge:
    """The bridge of human labels (1, 0, -1 or "a", "tie", "b") and score differences A - B, with tie band `tau`.

    Correlation, kappa and the confusion counts depend on which clip of each pair is called A. Where that is arbitrary (models
    sorted by name, say), `symmetric` counts every pair in both orders, inside its own cluster, so that they do not depend on it.
    """
    y = preference_sign(labels)
    delta = np.asarray(deltas, dtype=float)
    if delta.shape != y.shape:
        raise UsageError(f"one score difference per label is needed: {y.shape} labels, {delta.shape} differences")
    if not np.isfinite(delta).all():
        raise UsageError("score differences must be finite; leave out pairs without both scores and count them by reason")
    if len(y) == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no pair has both a human label and two scores")
    decision = threshold_decision(delta, tau)
    n = len(y)
    reasons: dict[str, str] = {}
    groups = cluster_codes(clusters, n)
    ordered, ordered_delta, ordered_groups = y, delta, groups
    if symmetric:
        ordered, ordered_delta, ordered_groups = np.concatenate([y, -y]), np.concatenate([delta, -delta]), np.tile(groups, 2)
    ordered_decision = threshold_decision(ordered_delta, tau)

    table = confusion_counts(ordered + 1, ordered_decision + 1, 3)
    same, differs, reversed_, every = decision == y, y != 0, y * decision == -1, np.ones(n, dtype=bool)

    def attempt(name: str, make: Callable[[], Found]) -> Found | None:
        try:
            return make()
        except NotScorable as missing:
            reasons[name] = str(missing)
            return None

    cells = np.eye(9)[(ordered + 1) * 3 + ordered_decision + 1]

    def kappa(weights: WeightKind) -> Estimate:
        name = f"decision kappa ({weights})"
        credit = agreement_weights(SIGN_ORDER, weights)
        return replace(resampled_kappa(name, cells, credit, ordered_groups, resamples, confidence, seed), n=n)

    def rate(name: str, hits: Flags, among: Flags) -> Estimate:
        return share(name, hits[among], groups[among], confidence=confidence)

    return Bridge(
        n=n,
        tau=float(tau),
        tie_ceiling=attempt("tie_ceiling", lambda: tie_ceiling(ordered)),
        exact=rate("exact agreement", same, every),
        strict=attempt("strict", lambda: rate("strict agreement", same, differs)),
        tie=attempt("tie", lambda: rate("tie agreement", same, ~differs)),
        decision_kappa=attempt("decision_kappa", lambda: kappa("nominal")),
        weighted_kappa=attempt("weighted_kappa", lambda: kappa("quadratic")),
        reversals=int(reversed_.sum()),
        reversal_rate=rate("reversal rate", reversed_, every),
        confusion=pd.DataFrame(table, index=pd.Index(SIGN_ORDER, name="human"), columns=pd.Index(SIGN_ORDER, name="metric")),
        reasons=reasons,
    )


def as_booleans(values: ArrayLike, what: str) -> Flags:
    """True/False, 1/0 or "yes"/"no" (any case) as booleans; anything else, missing included, is an error."""
    series = pd.Series(np.asarray(values, dtype=object))
    mapped = series.map(lambda v: TRUTHS.get(v.lower() if isinstance(v, str) else v))
    if mapped.isna().any():
        bad = sorted({repr(v) for v in series[mapped.isna()].head(20)})[:5]
        raise ContractError(f"{what} must be yes/no (True/False, 1/0, 'yes'/'no'); found {', '.join(bad)}")
    return np.asarray(mapped, dtype=bool)


def outcome_cells(human: ArrayLike, judge: ArrayLike) -> Floats:
    """Per case the one-hot of (true positive, false positive, false negative, true negative)."""
    truth, answer = as_booleans(human, "human labels"), as_booleans(judge, "judge answers")
    if truth.shape != answer.shape:
        raise UsageError(f"one judge answer per human label is needed: {truth.shape} labels, {answer.shape} answers")
    cells = np.stack([truth & answer, ~truth & answer, truth & ~answer, ~truth & ~answer], axis=1)
    return cells.astype(float)


def ratio_measure(
    name: str,
    cells: Floats,
    statistic: Callable[[Floats], Floats],
    clusters: ArrayLike | None,
    resamples: int,
    confidence: float,
    seed: int,
) -> Estimate:
    """A function of the four counts with a cluster-bootstrap interval (F1, balanced agreement)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(statistic(cells.sum(axis=0)[None])[0])
    if not np.isfinite(value):
        raise NotScorable(Reason.UNDEFINED, f"{name} is 0/0 with these counts")
    groups = cluster_codes(clusters, len(cells))
    n_groups = int(groups.max()) + 1
    draws = bootstrap_totals(cells, statistic, groups, enough_resamples(resamples, n_groups, confidence), seed)
    low, high, note = varying_interval(draws, value, n_groups, confidence, SHARE)
    method = method_text(len(draws), n_groups, "units" if clusters is None else "clusters", seed)
    return Estimate(name, value, len(cells), low, high, confidence=confidence, method=method, note=note)


def share_measure(
    name: str,
    cells: Floats,
    hits: tuple[int, ...],
    among: tuple[int, ...],
    clusters: ArrayLike | None,
    confidence: float,
) -> Estimate:
    """hits/among of the four counts, with Wilson's interval over the (effective) cases."""
    counted = cells[:, list(among)].sum(axis=1) > 0
    own = None if clusters is None else np.asarray(clusters, dtype=object)[counted]
    hit = cells[counted][:, list(hits)].sum(axis=1) > 0
    return share(name, hit, own, confidence=confidence)


def trigger_validation(
    human: ArrayLike,
    judge: ArrayLike,
    subsets: ArrayLike | None = None,
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Tidy rows (subset, measure, value, low, high, n, reason) of a judge's measures, per subset and "overall".

    accuracy = (TP+TN)/n, precision = TP/(TP+FP), recall = TP/(TP+FN), specificity = TN/(TN+FP) with Wilson intervals (over
    effective cases when `clusters` is given), F1 = 2TP/(2TP+FP+FN) with a bootstrap interval, Cohen's kappa and AC1 of judge and
    people, and the counts TP, FP, FN, TN. A judge that never says yes has no precision: its row says so.
    """
    cells = outcome_cells(human, judge)
    if len(cells) == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no clip has both a human majority and a judge's answer")
    names = np.full(len(cells), "overall", dtype=object) if subsets is None else np.asarray(subsets, dtype=object)
    if len(names) != len(cells):
        raise UsageError(f"one subset per label is needed: {len(cells)} labels, {len(names)} subsets")
    groups = None if clusters is None else np.asarray(clusters, dtype=object)
    parts = [] if subsets is None else [(name, names == name) for name in sorted(set(names.tolist()))]
    rows = []
    for name, chosen in [*parts, ("overall", np.ones(len(cells), dtype=bool))]:
        measures = _measures(cells[chosen], None if groups is None else groups[chosen], resamples, confidence, seed)
        rows += [{"subset": name, **row} for row in measures]
    return pd.DataFrame(rows)


def _measures(cells: Floats, clusters: ArrayLike | None, resamples: int, confidence: float, seed: int) -> list[dict[str, object]]:
    def share(name: str, hits: tuple[int, ...], among: tuple[int, ...]) -> dict[str, object]:
        return measure_row(lambda: share_measure(name, cells, hits, among, clusters, confidence), name)

    people, judge = (cells[:, [TP, other]].sum(axis=1) for other in (FN, FP))
    common: dict[str, Any] = {"clusters": clusters, "confidence": confidence}
    counts = zip(("true_yes", "false_yes", "false_no", "true_no"), cells.sum(axis=0).tolist(), strict=True)
    return [
        share("accuracy", (TP, TN), (TP, FP, FN, TN)),
        share("precision", (TP,), (TP, FP)),
        share("recall", (TP,), (TP, FN)),
        measure_row(lambda: ratio_measure("F1", cells, _f1, clusters, resamples, confidence, seed), "f1"),
        share("specificity", (TN,), (TN, FP)),
        measure_row(lambda: cohen_kappa(people, judge, BOTH, **common, resamples=resamples, seed=seed), "kappa"),
        measure_row(lambda: gwet_ac1(np.column_stack([people, judge]), BOTH, **common), "ac1"),
        *(
            {"measure": name, "value": count, "low": np.nan, "high": np.nan, "n": len(cells), "reason": ""}
            for name, count in counts
        ),
    ]


def _f1(totals: Floats) -> Floats:
    return 2 * totals[:, TP] / (2 * totals[:, TP] + totals[:, FP] + totals[:, FN])


def judgeability_agreement(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Tidy rows (measure, value, low, high, n, reason): J, NJ, balanced, overall.

    J is the judge's agreement where people find the clip judgeable, NJ where they do not, balanced = (J + NJ)/2 so that the more
    frequent answer does not hide the other.
    """
    cells = outcome_cells(human, judge)
    if len(cells) == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no clip has both a human and a judge's judgeability")

    def share(name: str, hits: tuple[int, ...], among: tuple[int, ...]) -> dict[str, object]:
        return measure_row(lambda: share_measure(name, cells, hits, among, clusters, confidence), name)

    balanced = measure_row(lambda: ratio_measure("balanced", cells, _balanced, clusters, resamples, confidence, seed), "balanced")
    rows = [
        share("J", (TP,), (TP, FN)),
        share("NJ", (TN,), (TN, FP)),
        balanced,
        share("overall", (TP, TN), (TP, FP, FN, TN)),
    ]
    return pd.DataFrame(rows)


def _balanced(totals: np.ndarray) -> Floats:
    hit, held = totals[:, TP] / (totals[:, TP] + totals[:, FN]), totals[:, TN] / (totals[:, TN] + totals[:, FP])
    return np.asarray((hit + held) / 2)
