"""MBench state progress: how far the unseen process went on, rated 1 to 5 (section 4.4.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lookback.benchmarks.mbench.metrics.state_progress import state_progress
from lookback.registry import metric
from lookback.scoring.results import Item

if TYPE_CHECKING:
    from lookback.judging.verdicts import JudgedClip

DECLARATION: dict[str, Any] = {
    "title": "State progress",
    "benchmark": "mbench",
    "unit": "",
    "range": (0.0, 1.0),
    "higher_is_better": True,
    "needs": ("video",),
    "roles": (),
    "equation": "g = (raw - 1) / 4",
    "source": "MBench section 4.4.1",
    "variants": ("paper", "official"),
    "subsets": ("causal",),
    "judge_tasks": ("state_progress",),
}


@metric(name="mbencha.causal.state_progress", settings=("A",), **DECLARATION)
@metric(name="mbencht.causal.state_progress", settings=("T",), **DECLARATION)
def score(judged: JudgedClip) -> Item:
    """The rating on [0,1]."""
    raw = judged.value("state_progress", "state_progress")
    return Item(state_progress(raw, variant=judged.variant), raw, n_units=1)  # type: ignore[arg-type]
