"""Preferences between two clips as signs: +1 when A is better, 0 for a tie, -1 when B is better (WRBench's y)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lookback.errors import ContractError, UsageError

SIGNS: dict[Any, int] = {"a": 1, "tie": 0, "b": -1, "1": 1, "0": 0, "-1": -1, 1: 1, 0: 0, -1: -1}


def preference_sign(labels: ArrayLike) -> NDArray[np.int64]:
    """Labels "a", "tie", "b" (any case) or 1, 0, -1 (numbers or text) as signs; anything else is an error that names the label."""
    codes, found = pd.factorize(np.asarray(labels, dtype=object), use_na_sentinel=False)
    signs = [SIGNS.get(v.lower() if isinstance(v, str) else v) for v in found]
    bad = sorted({repr(v) for v, sign in zip(found, signs, strict=True) if sign is None})[:5]
    if bad:
        raise ContractError(f"preference labels must be 'a', 'tie', 'b' or 1, 0, -1; found {', '.join(bad)}")
    return np.array(signs, dtype=np.int64)[codes]


def threshold_decision(deltas: ArrayLike, tau: float | NDArray[np.float64]) -> NDArray[np.int64]:
    """The metric's three-way decision: 1 where delta > tau, -1 where delta < -tau, 0 inside the tie band (WRBench eq. 10)."""
    if not np.all(np.asarray(tau) >= 0):
        raise UsageError(f"the tie band tau must be zero or positive, got {tau}")
    values = np.asarray(deltas, dtype=float)
    return (values > tau).astype(np.int64) - (values < -tau).astype(np.int64)
