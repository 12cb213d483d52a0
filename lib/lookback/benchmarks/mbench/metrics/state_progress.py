"""State evolution and its correctness, as a judge rates them from 1 to 5 (MBench section 4.4.1, eq. 14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookback.benchmarks.mbench.metrics.shared import mbench_metric
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant, require_variant
from lookback.scoring.contract import Item

if TYPE_CHECKING:
    from lookback.judging.verdicts import JudgedClip

LOWEST, HIGHEST = 1, 5


def rating_score(raw: float, *, variant: Variant = "paper") -> float:
    """(raw - 1) / 4 (paper), raw / 5 (official: the README's examples fit it) of a rating from 1 to 5."""
    require_variant(variant, ("paper", "official"))
    if not LOWEST <= raw <= HIGHEST:
        raise NotScorable(Reason.JUDGE_UNPARSED, f"a rating must lie between {LOWEST} and {HIGHEST}, not {raw}")
    return raw / HIGHEST if variant == "official" else (raw - LOWEST) / (HIGHEST - LOWEST)


def state_progress(raw: float, *, variant: Variant = "paper") -> float:
    """The gating weight g in [0,1]: 0 when nothing happened, 1 when the process is fully realised."""
    return rating_score(raw, variant=variant)


@mbench_metric(
    "causal.state_progress",
    title="State progress",
    unit="",
    needs=("video",),
    roles=(),
    equation="g = (raw - 1) / 4",
    source="MBench section 4.4.1",
    variants=("paper", "official"),
    subsets=("causal",),
    judge_tasks=("state_progress",),
    differences={"official": "the README's examples fit raw/5, the paper says (raw - 1)/4"},
)
def score_progress(judged: JudgedClip) -> Item:
    """The rating on [0,1]."""
    raw = judged.value("state_progress", "state_progress")
    return Item(state_progress(raw, variant=judged.variant), raw, n_units=1)  # type: ignore[arg-type]


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
def score_correctness(judged: JudgedClip) -> Item:
    """The gated correctness; `raw` is the rating before the gate."""
    progress = judged.value("state_progress", "state_progress")
    raw = judged.value("progress_correctness", "progress_correctness")
    value = progress_correctness(progress, raw, variant=judged.variant)  # type: ignore[arg-type]
    return Item(value, raw, n_units=2)
