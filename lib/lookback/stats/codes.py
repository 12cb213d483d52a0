"""Ratings as integer codes against declared categories: the one door every agreement statistic goes through.

Categories are declared, never inferred: a category that nobody happened to use still belongs to the scale, and chance-corrected
coefficients depend on it (AC1 of the same binary votes differs between a 2-, 3- and 5-category scale).
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lookback.errors import ContractError, UsageError

MISSING = -1


def check_categories(categories: Sequence[Any]) -> list[Any]:
    """The declared categories as a list; fewer than two, repeated or missing ones are a wrong call."""
    if isinstance(categories, str):
        raise UsageError(f"categories must be a sequence of labels, got the single string {categories!r}; pass for example [0, 1]")
    declared = list(categories)
    if len(declared) < 2:
        raise UsageError(f"a rating scale has at least two categories, got {declared}; declare the whole scale, used or not")
    if len(set(declared)) != len(declared) or any(pd.isna(c) for c in declared):
        raise UsageError(f"categories must be distinct and not missing, got {declared}")
    return declared


def code_labels(labels: ArrayLike, categories: Sequence[Any]) -> NDArray[np.int64]:
    """Labels of any shape as positions in `categories`; missing (None, NaN) becomes -1, anything else unknown is an error."""
    declared = check_categories(categories)
    values = np.asarray(labels)
    numeric = values.dtype.kind in "iuf" and all(isinstance(c, Real) for c in declared)
    kind = float if numeric else object
    flat = values.ravel().astype(kind)
    codes = np.asarray(pd.Index(declared, dtype=kind).get_indexer(pd.Index(flat, dtype=kind)), dtype=np.int64)
    unknown = (codes == MISSING) & ~pd.isna(flat)
    if unknown.any():
        examples = sorted({repr(v) for v in flat[unknown][:50].tolist()})[:5]
        raise ContractError(
            f"{int(unknown.sum())} label(s) outside the declared scale {declared}: {', '.join(examples)}; "
            "correct the labels or declare the scale they were given on"
        )
    return codes.reshape(values.shape)


def rating_codes(ratings: pd.DataFrame | ArrayLike, categories: Sequence[Any]) -> NDArray[np.int64]:
    """An items x raters table as codes, with -1 where a rater did not vote on an item."""
    values = ratings.to_numpy() if isinstance(ratings, pd.DataFrame) else np.asarray(ratings)
    if values.ndim != 2:
        raise UsageError(f"ratings must be a table of items x raters, got an array of shape {values.shape}")
    return code_labels(values, categories)


def vote_counts(codes: NDArray[np.int64], n_categories: int) -> NDArray[np.float64]:
    """How many raters put item i into category k, items x categories."""
    return np.stack([(codes == k).sum(axis=1) for k in range(n_categories)], axis=1).astype(float)


def category_values(categories: Sequence[Any]) -> NDArray[np.float64]:
    """The categories as numbers: themselves where all are numeric, otherwise their position in the declared order."""
    if all(isinstance(c, Real) and not isinstance(c, bool) for c in categories):
        return np.array([float(c) for c in categories])
    return np.arange(1, len(categories) + 1, dtype=float)


def cluster_codes(clusters: ArrayLike | None, n: int) -> NDArray[np.int64]:
    """Cluster of each unit as 0..G-1 in the order of their names, so that resampling does not depend on the order of the rows."""
    if clusters is None:
        return np.arange(n)
    values = pd.Series(np.asarray(clusters, dtype=object))
    if len(values) != n:
        raise UsageError(f"clusters must name one cluster per unit: {n} units, {len(values)} cluster labels")
    if values.isna().any():
        raise ContractError(f"{int(values.isna().sum())} unit(s) have no cluster; every unit must belong to one")
    try:
        return np.asarray(pd.factorize(values, sort=True)[0], dtype=np.int64)
    except TypeError:
        return np.asarray(pd.factorize(values.astype(str), sort=True)[0], dtype=np.int64)
