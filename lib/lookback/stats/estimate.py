"""The result of one estimator: a value, its interval, and how both were made."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Estimate:
    """A point estimate with its interval; `low`, `high`, `se`, `p` are None where they do not exist, and `note` says why.

    `n` counts the units the estimate rests on (items, pairs, models), never the votes.
    """

    name: str
    value: float
    n: int
    low: float | None = None
    high: float | None = None
    se: float | None = None
    p: float | None = None
    confidence: float = 0.95
    method: str = ""
    note: str = ""

    def __float__(self) -> float:
        return self.value

    def as_row(self) -> dict[str, Any]:
        """The fields as one table row."""
        return asdict(self)
