"""State evolution: how far the unseen process went on, as a judge rates it from 1 to 5 (MBench section 4.4.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookback.benchmarks.mbench.metrics.declare import mbench_metric
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
def score(judged: JudgedClip) -> Item:
    """The rating on [0,1]."""
    raw = judged.value("state_progress", "state_progress")
    return Item(state_progress(raw, variant=judged.variant), raw, n_units=1)  # type: ignore[arg-type]
