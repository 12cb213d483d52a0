"""Evolution correctness, soft-gated by whether the process happened at all (MBench section 4.4.1, eq. 14)."""

from __future__ import annotations

from lookback.benchmarks.mbench.metrics.state_progress import rating_score
from lookback.measures.checks import Variant


def progress_correctness(raw_progress: float, raw_correctness: float, *, variant: Variant = "paper") -> float:
    """g * s, with g the normalised progress and s the normalised correctness rating (MBench eq. 14)."""
    return rating_score(raw_progress, variant=variant) * rating_score(raw_correctness, variant=variant)
