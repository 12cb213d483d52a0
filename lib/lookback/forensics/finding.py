"""A failure that was found, and the written rule that found it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lookback.forensics.evidence import Evidence


@dataclass(frozen=True)
class Finding:
    """A failure, how sure the rule is, and where to look."""

    label: str
    confidence: float
    frame_start: int
    frame_end: int
    evidence: str


@dataclass(frozen=True)
class Rule:
    """A failure's rule in words and in code."""

    label: str
    title: str  # as the papers say it
    when: str
    find: Callable[[Evidence], Finding | None]


def sure(value: float, threshold: float, certain: float) -> float:
    """Confidence in [0.5, 1]: one half at the threshold, one at `certain`, linear between; below one half nothing is found."""
    return float(min(1.0, 0.5 + 0.5 * (value - threshold) / (certain - threshold)))
