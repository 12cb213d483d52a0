"""WRBench re-observation support: 1 where hidden-and-returned evidence is judgeable, 0 elsewhere; its mean is the support rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookback.registry import metric
from lookback.scoring.results import Item

if TYPE_CHECKING:
    from lookback.judging.verdicts import JudgedClip


@metric(
    name="wrbench.support",
    title="Re-observation support",
    benchmark="wrbench",
    unit="share of outputs",
    range=(0.0, 1.0),
    higher_is_better=True,
    needs=("video",),
    roles=(),
    equation="1 if judgeable -> not judgeable -> judgeable occurs second by second",
    source="WRBench section 3.4, dimension (v), eq. 7 and 9",
    judge_tasks=("judgeability",),
)
def score(judged: JudgedClip) -> Item:
    """The per-second pattern of the gate judge."""
    from lookback.benchmarks.wrbench.judgeability import SECOND, support

    answers = judged.gate()
    supported, why = support(answers)
    seconds = sum(name.startswith(SECOND) for name in answers)
    return Item(float(supported), detail="" if why is None else str(why), n_units=seconds)
