"""Yes/no probes: visible and re-observed spatial and state consistency, D3 to D6 (WRBench eq. 4-8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from lookback.benchmarks.wrbench.metrics.shared import settings_of, wrbench_metric
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_probability
from lookback.scoring.contract import Item

if TYPE_CHECKING:
    from lookback.judging.verdicts import JudgedClip

# how many probes of each polarity a dimension has
PROBES: dict[str, tuple[int, int]] = {
    "visible_spatial": (2, 1),
    "visible_state": (2, 1),
    "reobs_spatial": (1, 1),
    "reobs_state": (1, 1),
}
TITLES = {
    "visible_spatial": "Visible spatial consistency (D3)",
    "visible_state": "Visible state consistency (D4)",
    "reobserved_spatial": "Re-observed spatial consistency (D5)",
    "reobserved_state": "Re-observed state consistency (D6)",
}
RETURNED = ("reobserved_spatial", "reobserved_state")


def probe_score(p_positive: ArrayLike, p_negative: ArrayLike) -> float:
    """Mean of p over positive and 1 - p over negative probes (WRBench eq. 5 and 6), in [0,1].

    A probe without an answer (NaN) makes the dimension missing.
    """
    answers = [np.atleast_1d(np.asarray(p, dtype=np.float64)) for p in (p_positive, p_negative)]
    if any(np.isnan(p).any() for p in answers) or sum(p.size for p in answers) == 0:
        raise NotScorable(Reason.PROBE_MISSING, "a probe of this dimension has no answer")
    positive, negative = (require_probability(p, "probe") if p.size else p for p in answers)
    return float(np.concatenate([positive, 1.0 - negative]).mean())


def probe_dimension(judged: JudgedClip, dimension: str) -> Item:
    """Mean of p over the positive and 1 - p over the negative probes; a missing probe makes the dimension missing."""
    from lookback.benchmarks.wrbench.judging import scoring_probes

    answers: dict[str, list[float]] = {"positive": [], "negative": []}
    for probe in scoring_probes(dimension):
        answers[probe.polarity].append(judged.value("probe", probe.id))
    return Item(probe_score(answers["positive"], answers["negative"]), n_units=sum(map(len, answers.values())))


def gated_dimension(judged: JudgedClip, dimension: str) -> Item:
    """The same behind the dimension's own gate R_a; without support the value is missing with the gate's reason (eq. 8)."""
    from lookback.benchmarks.wrbench.judging import reobservable

    is_open, reason, detail = reobservable(judged, dimension, settings_of(dimension, judged.variant))
    if not is_open:
        raise NotScorable(reason or Reason.NOT_APPLICABLE, detail)
    return probe_dimension(judged, dimension)


def _register(dimension: str) -> Callable[[JudgedClip], Item]:
    returned = dimension in RETURNED

    @wrbench_metric(
        dimension,
        title=TITLES[dimension],
        needs=("video", "prompt"),
        roles=(),
        equation="mean of p_yes (positive probes) and 1 - p_yes (negative probes)"
        + (", NA unless H and U and J" if returned else ""),
        source="WRBench eq. 8" if returned else "WRBench eq. 6",
        judge_tasks=("judgeability", "probe") if returned else ("probe",),
    )
    def score(judged: JudgedClip) -> Item:
        return gated_dimension(judged, dimension) if returned else probe_dimension(judged, dimension)

    return score


SCORES = {dimension: _register(dimension) for dimension in TITLES}
