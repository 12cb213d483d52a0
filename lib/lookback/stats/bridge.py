"""WRBench's evaluator-human bridge: do score differences agree with people, pair by pair?

Per pair, y in {-1, 0, 1} is the human label and Delta = M(A) - M(B). Rank alignment is Spearman(y, Delta); the decision check
thresholds Delta with a tie band tau fixed in advance, and counts agreement and reversals (people say A, the metric says B).
Source: WRBench 3.5, eq. 10, and appendix G.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.codes import cluster_codes
from lookback.stats.confusion import confusion_counts
from lookback.stats.estimate import Estimate
from lookback.stats.kappa import resampled_kappa
from lookback.stats.preference import preference_sign, threshold_decision
from lookback.stats.share import share
from lookback.stats.spearman import spearman, tie_ceiling
from lookback.stats.weights import WeightKind, agreement_weights

SIGN_ORDER = (-1, 0, 1)
ESTIMATES = ("rho", "exact", "strict", "tie", "decision_kappa", "weighted_kappa", "reversal_rate")


@dataclass(frozen=True)
class Bridge:
    """Pair-level agreement of a metric with people; an entry that has no value is None and `reasons` says why.

    exact: decision = label. strict: the same where people saw a difference. tie: the same where people saw none.
    `confusion` has people's labels as rows and the metric's decisions as columns, in the order -1, 0, 1.
    `rho_ceiling` is the largest rho an untied score could reach against labels with these ties.
    """

    n: int
    tau: float
    rho: Estimate | None
    rho_ceiling: float | None
    exact: Estimate
    strict: Estimate | None
    tie: Estimate | None
    decision_kappa: Estimate | None
    weighted_kappa: Estimate | None
    reversals: int
    reversal_rate: Estimate
    confusion: pd.DataFrame
    reasons: dict[str, str]

    def as_row(self) -> dict[str, Any]:
        """One flat table row; missing values are NaN with their reason in `reason`."""
        row: dict[str, Any] = {"n": self.n, "tau": self.tau, "reversals": self.reversals}
        for name in ESTIMATES:
            estimate = getattr(self, name)
            row[name] = np.nan if estimate is None else estimate.value
            row[f"{name}_low"] = np.nan if estimate is None or estimate.low is None else estimate.low
            row[f"{name}_high"] = np.nan if estimate is None or estimate.high is None else estimate.high
        row["rho_p"] = np.nan if self.rho is None or self.rho.p is None else self.rho.p
        row["rho_ceiling"] = np.nan if self.rho_ceiling is None else self.rho_ceiling
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

    Correlation and kappa depend on which clip of each pair is called A. Where that is arbitrary (models sorted by name, say),
    `symmetric` counts every pair in both orders, inside its own cluster, so that the result does not depend on it.
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
    table = confusion_counts(y + 1, decision + 1, 3)
    n = len(y)
    reasons: dict[str, str] = {}
    groups = cluster_codes(clusters, n)
    ordered, ordered_delta, ordered_groups = y, delta, groups
    if symmetric:
        ordered, ordered_delta, ordered_groups = np.concatenate([y, -y]), np.concatenate([delta, -delta]), np.tile(groups, 2)
    ordered_decision = threshold_decision(ordered_delta, tau)

    same, differs, every = decision == y, y != 0, np.ones(n, dtype=bool)

    def attempt(name: str, make: Any) -> Any:
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

    def rate(name: str, hits: NDArray[np.bool_], among: NDArray[np.bool_]) -> Estimate:
        return share(name, hits[among], groups[among], confidence=confidence)

    def alignment() -> Estimate:
        drawn: dict[str, Any] = {"resamples": resamples, "confidence": confidence, "seed": seed}
        return replace(spearman(ordered, ordered_delta, clusters=ordered_groups, **drawn), n=n)

    rho = attempt("rho", alignment)
    return Bridge(
        n=n,
        tau=float(tau),
        rho=rho,
        rho_ceiling=attempt("rho_ceiling", lambda: tie_ceiling(ordered)),
        exact=rate("exact agreement", same, every),
        strict=attempt("strict", lambda: rate("strict agreement", same, differs)),
        tie=attempt("tie", lambda: rate("tie agreement", same, ~differs)),
        decision_kappa=attempt("decision_kappa", lambda: kappa("nominal")),
        weighted_kappa=attempt("weighted_kappa", lambda: kappa("quadratic")),
        reversals=int(table[0, 2] + table[2, 0]),
        reversal_rate=rate("reversal rate", y * decision == -1, every),
        confusion=pd.DataFrame(table, index=pd.Index(SIGN_ORDER, name="human"), columns=pd.Index(SIGN_ORDER, name="metric")),
        reasons=reasons,
    )
