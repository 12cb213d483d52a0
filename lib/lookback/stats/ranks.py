"""Spearman's rho and Kendall's tau-b of a few models, with exact permutation p and what p the sample size allows at all.

With m untied models the two-sided p cannot fall under 2/m!: no result from 4 models can reach 0.05.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import factorial

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from lookback.errors import NotScorable, Reason, UsageError

# 9! = 362,880 orders are enumerated; more models use random orders
EXACT_MODELS = 9
RANDOM_ORDERS = 99_999
SLACK = 1e-9


@dataclass(frozen=True)
class PermutationTest:
    """A correlation with its two-sided permutation p and the smallest p these values could have given."""

    value: float
    p: float
    smallest_p: float
    exact: bool


def smallest_attainable_p(m: int) -> float:
    """The smallest two-sided permutation p with m untied models: 2/m! (identity and reversal), at most 1.

    >>> [round(smallest_attainable_p(m), 4) for m in (3, 4, 6, 8)]
    [0.3333, 0.0833, 0.0028, 0.0]
    """
    if m < 2:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"ranking needs at least two models, got {m}")
    return min(1.0, 2 / factorial(m))


def spearman_rows(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spearman's rho of each row of x with the same row of y (mid-ranks for ties); NaN where a row is constant."""
    rx, ry = rankdata(x, axis=-1), rankdata(y, axis=-1)
    rx, ry = rx - rx.mean(axis=-1, keepdims=True), ry - ry.mean(axis=-1, keepdims=True)
    scale = np.sqrt((rx**2).sum(axis=-1) * (ry**2).sum(axis=-1))
    return np.divide((rx * ry).sum(axis=-1), scale, out=np.full(scale.shape, np.nan), where=scale > 0)


def kendall_rows(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kendall's tau-b of each row of x with the same row of y; NaN where a row is constant."""
    i, j = np.triu_indices(x.shape[-1], 1)
    sx = np.sign(x[..., i] - x[..., j])
    sy = np.sign(y[..., i] - y[..., j])
    scale = np.sqrt((sx**2).sum(axis=-1) * (sy**2).sum(axis=-1))
    return np.divide((sx * sy).sum(axis=-1), scale, out=np.full(scale.shape, np.nan), where=scale > 0)


@lru_cache(maxsize=4)
def _all_orders(m: int) -> NDArray[np.int8]:
    return np.array(list(permutations(range(m))), dtype=np.int8)


def permutation_tests(x: NDArray[np.float64], y: NDArray[np.float64], seed: int = 0) -> tuple[PermutationTest, PermutationTest]:
    """(Spearman, Kendall tau-b) with p = share of orders of y whose |statistic| reaches the observed one.

    Up to 9 models every order is enumerated; above, 99,999 seeded random orders and the observed one.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.ndim != 1 or x.shape != y.shape:
        raise UsageError(f"two lists of the same models are needed, got shapes {x.shape} and {y.shape}")
    m = len(x)
    if m < 2:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"ranking needs at least two models, got {m}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise UsageError("model values must be finite; leave out models without a score")
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        which = "the first" if np.ptp(x) == 0 else "the second"
        raise NotScorable(Reason.UNDEFINED, f"{which} ranking is constant: all {m} models are tied")
    exact = m <= EXACT_MODELS
    orders = _all_orders(m) if exact else np.argsort(np.random.default_rng(seed).random((RANDOM_ORDERS, m)), axis=1)
    shuffled = rankdata(y)[orders]
    ranks = np.broadcast_to(rankdata(x), shuffled.shape)
    tests = []
    for statistic in (spearman_rows, kendall_rows):
        observed = float(statistic(x[None], y[None])[0])
        extreme = np.abs(statistic(ranks, shuffled))
        reached = int((extreme >= abs(observed) - SLACK).sum())
        if exact:
            p = reached / len(orders)
            smallest = float((extreme >= extreme.max() - SLACK).sum() / len(orders))
        else:
            p = (reached + 1) / (len(orders) + 1)
            smallest = 1 / (len(orders) + 1)
        tests.append(PermutationTest(observed, p, smallest, exact))
    return tests[0], tests[1]
