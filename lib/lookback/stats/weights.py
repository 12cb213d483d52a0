"""Agreement weights between categories: how much partial credit two different labels get.

Source: Gwet, Handbook of Inter-Rater Reliability (4th ed.), ch. 3. All have ones on the diagonal and lie in [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from lookback.errors import UsageError
from lookback.stats.codes import category_values, check_categories

WeightKind = Literal["nominal", "ordinal", "linear", "quadratic"]


def agreement_weights(categories: Sequence[Any], kind: WeightKind) -> NDArray[np.float64]:
    """The q x q weights of `kind` for the declared (ordered) categories.

    nominal: 1 on the diagonal. ordinal: 1 - C(|k-l|+1, 2) / C(q, 2), ranks only. linear: 1 - |x_k-x_l|/(max-min).
    quadratic: 1 - (x_k-x_l)^2/(max-min)^2, where x are the categories' numbers (or ranks when they are words).
    """
    declared = check_categories(categories)
    q = len(declared)
    if kind == "nominal":
        return np.eye(q)
    if kind == "ordinal":
        distance = np.abs(np.subtract.outer(np.arange(q), np.arange(q)))
        return 1.0 - distance * (distance + 1) / (q * (q - 1))
    if kind not in get_args(WeightKind):
        raise UsageError(f"unknown weights {kind!r}; choose one of {', '.join(get_args(WeightKind))}")
    x = category_values(declared)
    gap = np.abs(np.subtract.outer(x, x)) / (x.max() - x.min())
    return 1.0 - (gap if kind == "linear" else gap**2)
