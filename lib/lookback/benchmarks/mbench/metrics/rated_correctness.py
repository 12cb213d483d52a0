"""MBench progress correctness: physical plausibility of the progress, soft-gated by whether it happened (section 4.4.1, eq. 14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lookback.benchmarks.mbench.metrics.progress_correctness import progress_correctness
from lookback.registry import metric
from lookback.scoring.results import Item

if TYPE_CHECKING:
    from lookback.judging.verdicts import JudgedClip

DECLARATION: dict[str, Any] = {
    "title": "Progress correctness",
    "benchmark": "mbench",
    "unit": "",
    "range": (0.0, 1.0),
    "higher_is_better": True,
    "needs": ("video",),
    "roles": (),
    "equation": "g s with g, s = (raw - 1) / 4 of progress and correctness",
    "source": "MBench eq. 14",
    "variants": ("paper", "official"),
    "subsets": ("causal",),
    "judge_tasks": ("state_progress", "progress_correctness"),
}


@metric(name="mbencha.causal.progress_correctness", settings=("A",), **DECLARATION)
@metric(name="mbencht.causal.progress_correctness", settings=("T",), **DECLARATION)
def score(judged: JudgedClip) -> Item:
    """The gated correctness; `raw` is the rating before the gate."""
    progress = judged.value("state_progress", "state_progress")
    raw = judged.value("progress_correctness", "progress_correctness")
    value = progress_correctness(progress, raw, variant=judged.variant)  # type: ignore[arg-type]
    return Item(value, raw, n_units=2)
