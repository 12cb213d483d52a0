"""Evolution correctness, soft-gated by whether the process happened at all (MBench section 4.4.1, eq. 14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookback.benchmarks.mbench.metrics.declare import mbench_metric
from lookback.benchmarks.mbench.metrics.state_progress import rating_score
from lookback.measures.checks import Variant
from lookback.scoring.contract import Item

if TYPE_CHECKING:
    from lookback.judging.verdicts import JudgedClip


def progress_correctness(raw_progress: float, raw_correctness: float, *, variant: Variant = "paper") -> float:
    """g * s, with g the normalised progress and s the normalised correctness rating (MBench eq. 14)."""
    return rating_score(raw_progress, variant=variant) * rating_score(raw_correctness, variant=variant)


@mbench_metric(
    "causal.progress_correctness",
    title="Progress correctness",
    unit="",
    needs=("video",),
    roles=(),
    equation="g s with g, s = (raw - 1) / 4 of progress and correctness",
    source="MBench eq. 14",
    variants=("paper", "official"),
    subsets=("causal",),
    judge_tasks=("state_progress", "progress_correctness"),
    differences={"official": "both factors as raw/5 instead of (raw - 1)/4"},
)
def score(judged: JudgedClip) -> Item:
    """The gated correctness; `raw` is the rating before the gate."""
    progress = judged.value("state_progress", "state_progress")
    raw = judged.value("progress_correctness", "progress_correctness")
    value = progress_correctness(progress, raw, variant=judged.variant)  # type: ignore[arg-type]
    return Item(value, raw, n_units=2)
