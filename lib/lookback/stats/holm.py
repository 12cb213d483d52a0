"""Holm's step-down correction: the chance of any false claim in a family of tests stays at alpha."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lookback.errors import UsageError


def holm(p_values: pd.Series | ArrayLike, *, family_size: int | None = None) -> pd.Series | NDArray[np.float64]:
    """Adjusted p in the order given: max over j <= i of min(1, (m - j + 1) p_(j)). Source: Holm (1979), Scand. J. Stat. 6:65-70.

    `family_size` counts every declared test, also those that could not be computed, so that dropping one never helps the others.

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    if p.ndim != 1:
        raise UsageError(f"p-values must be one list, got shape {p.shape}")
    if not ((p >= 0) & (p <= 1)).all():
        raise UsageError("p-values must lie between 0 and 1; leave out tests without a p and count them in family_size")
    m = len(p) if family_size is None else family_size
    if m < len(p):
        raise UsageError(f"family_size {m} is smaller than the {len(p)} p-values given")
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, (m - np.arange(len(p))) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(stepped) if len(p) else stepped
    return pd.Series(adjusted, index=p_values.index, name=p_values.name) if isinstance(p_values, pd.Series) else adjusted
