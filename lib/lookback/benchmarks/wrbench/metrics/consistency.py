"""WRBench's probe dimensions: visible and re-observed, spatial and state (D3 to D6, eq. 5 to 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lookback.errors import NotScorable, Reason
from lookback.benchmarks.wrbench.metrics.probes import probe_score
from lookback.registry import metric
from lookback.scoring.results import Item

if TYPE_CHECKING:
    from lookback.judging.verdicts import JudgedClip

TITLES = {
    "visible_spatial": "Visible spatial consistency (D3)",
    "visible_state": "Visible state consistency (D4)",
    "reobserved_spatial": "Re-observed spatial consistency (D5)",
    "reobserved_state": "Re-observed state consistency (D6)",
}
RETURNED = ("reobserved_spatial", "reobserved_state")


def probe_dimension(judged: JudgedClip, dimension: str) -> Item:
    """Mean of p over the positive and 1 - p over the negative probes; a missing probe makes the dimension missing."""
    from lookback.benchmarks.wrbench.probes import scoring_probes

    answers: dict[str, list[float]] = {"positive": [], "negative": []}
    for probe in scoring_probes(dimension):
        answers[probe.polarity].append(judged.value("probe", probe.id))
    return Item(probe_score(answers["positive"], answers["negative"]), n_units=sum(map(len, answers.values())))


def gated_dimension(judged: JudgedClip, dimension: str) -> Item:
    """The same behind the dimension's own gate R_a; without support the value is missing with the gate's reason (eq. 8)."""
    from lookback.benchmarks.wrbench.judgeability import applicable

    is_open, reason, detail = applicable(dimension, judged.gate())
    if not is_open:
        raise NotScorable(reason or Reason.NOT_APPLICABLE, detail)
    return probe_dimension(judged, dimension)


def _register(dimension: str) -> Callable[[JudgedClip], Item]:
    returned = dimension in RETURNED

    @metric(
        name=f"wrbench.{dimension}",
        title=TITLES[dimension],
        benchmark="wrbench",
        unit="",
        range=(0.0, 1.0),
        higher_is_better=True,
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
