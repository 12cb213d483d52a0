"""Confusion counts of two code vectors, and Wilson intervals for the shares read off them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from statsmodels.stats.proportion import proportion_confint

from lookback.errors import NotScorable, Reason
from lookback.stats.estimate import Estimate


def confusion_counts(rows: NDArray[np.int64], columns: NDArray[np.int64], q: int) -> NDArray[np.int64]:
    """q x q counts of (row code, column code)."""
    return np.bincount(rows * q + columns, minlength=q * q).reshape(q, q)


def proportion(name: str, hits: int, n: int, confidence: float = 0.95) -> Estimate:
    """hits/n with Wilson's score interval (Wilson 1927), which stays inside [0, 1] and works at 0 and n."""
    if n == 0:
        raise NotScorable(Reason.UNDEFINED, f"{name} is 0/0: no case to count")
    low, high = proportion_confint(hits, n, alpha=1 - confidence, method="wilson")
    return Estimate(name, hits / n, n, float(low), float(high), confidence=confidence, method="Wilson score interval")
