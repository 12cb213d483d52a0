"""What a benchmark offers that builds its samples from source videos."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from lookback.judging.asking import Asked
from lookback.judging.question import Question

Ask = Callable[[Sequence[Question]], list[Asked]]


class Built(Protocol):
    """One source video: what it became, or the problem that kept it out."""

    sample_id: str
    subset: str
    problem: str

    @property
    def action(self) -> str: ...


class Constructor(Protocol):
    """Builds a set with a judge's answers, and removes what people do not keep."""

    def construct(self, videos: Path, out: Path, ask: Ask, n_frames: int = 8) -> Sequence[Built]: ...

    def apply_review(self, out: Path) -> tuple[list[str], list[str], list[str]]: ...
