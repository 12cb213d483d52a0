"""State evolution and its correctness, as a judge rates them from 1 to 5 (MBench section 4.4.1, eq. 14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from lookback.benchmarks.mbench.metrics.shared import mbench_metric
from lookback.errors import NotScorable, Reason, UsageError
from lookback.scoring.contract import Item

if TYPE_CHECKING:
    from lookback.judging.verdicts import JudgedClip

LOWEST, HIGHEST = 1, 5
Scale = Literal["from_one", "of_five"]


def state_progress(raw: float, *, scale: Scale = "from_one") -> float:
    """A rating from 1 to 5 in [0,1]: (raw - 1) / 4 as the paper says, or raw / 5 (`of_five`), which the README's example fits.

    Of the progress it is the gating weight g: 0 when nothing happened, 1 when the process is fully realised.
    """
    if scale not in ("from_one", "of_five"):
        raise UsageError(f"A rating scores from_one or of_five, not {scale!r}")
    if not LOWEST <= raw <= HIGHEST:
        raise NotScorable(Reason.JUDGE_UNPARSED, f"a rating must lie between {LOWEST} and {HIGHEST}, not {raw}")
    return raw / HIGHEST if scale == "of_five" else (raw - LOWEST) / (HIGHEST - LOWEST)


def progress_correctness(raw_progress: float, raw_correctness: float, *, scale: Scale = "from_one", gated: bool = True) -> float:
    """g * s, with g the normalised progress and s the normalised correctness rating (MBench eq. 14); s alone without the gate."""
    correctness = state_progress(raw_correctness, scale=scale)
    return state_progress(raw_progress, scale=scale) * correctness if gated else correctness


@mbench_metric(
    "causal.state_progress",
    title="State progress",
    unit="",
    needs=("video",),
    roles=(),
    equation="g = (raw - 1) / 4",
    source="MBench section 4.4.1",
    subsets=("causal",),
    judge_tasks=("state_progress",),
)
def score_progress(context: JudgedClip) -> Item:
    """The rating on [0,1]."""
    raw = context.value("state_progress", "state_progress")
    return Item(state_progress(raw, scale=cast(Scale, context.setting("scale"))), raw, n_units=1)


@mbench_metric(
    "causal.progress_correctness",
    title="Progress correctness",
    unit="",
    needs=("video",),
    roles=(),
    equation="g s with g, s = (raw - 1) / 4 of progress and correctness",
    source="MBench eq. 14",
    subsets=("causal",),
    judge_tasks=("state_progress", "progress_correctness"),
)
def score_correctness(context: JudgedClip) -> Item:
    """The correctness, gated by the progress where the preset says so; `raw` is the rating before the gate."""
    gated = context.setting("gate") == "by_progress"
    raw = context.value("progress_correctness", "progress_correctness")
    progress = context.value("state_progress", "state_progress") if gated else raw
    value = progress_correctness(progress, raw, scale=cast(Scale, context.setting("scale")), gated=gated)
    return Item(value, raw, n_units=2 if gated else 1)
