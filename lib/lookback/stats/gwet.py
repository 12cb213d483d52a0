"""Gwet's AC1 and AC2: agreement that does not collapse when one category dominates (WRBench's main coefficient)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from lookback.stats.chance import chance_corrected
from lookback.stats.codes import check_categories, cluster_codes, rating_codes, vote_counts
from lookback.stats.estimate import Estimate
from lookback.stats.weights import WeightKind, agreement_weights


def gwet_ac1(
    ratings: pd.DataFrame | ArrayLike, categories: Sequence[Any], *, clusters: ArrayLike | None = None, confidence: float = 0.95
) -> Estimate:
    """AC1 = (p_a - p_e)/(1 - p_e) with p_e = sum_k pi_k (1 - pi_k) / (q - 1).

    `ratings` is items x raters with NaN/None where a vote is missing, `categories` the declared scale, `clusters` one label per
    item. All raters in one category give 1. Source: Gwet (2008), eq. 4 and 36; held to irrCAC in the tests.

    >>> round(gwet_ac1([[1, 1], [1, 1], [1, 0], [0, 0]], [0, 1]).value, 4)
    0.5294
    """
    return gwet_ac2(ratings, categories, weights="nominal", clusters=clusters, confidence=confidence)


def gwet_ac2(
    ratings: pd.DataFrame | ArrayLike,
    categories: Sequence[Any],
    *,
    weights: WeightKind = "ordinal",
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """AC2: AC1 with partial credit for near labels; `weights` is ordinal, linear, quadratic (or nominal, which is AC1)."""
    declared = check_categories(categories)
    codes = rating_codes(ratings, declared)
    name = "AC1" if weights == "nominal" else f"AC2 ({weights})"
    matrix = agreement_weights(declared, weights)
    groups = cluster_codes(clusters, len(codes))
    return chance_corrected(name, vote_counts(codes, len(declared)), matrix, "gwet", groups, confidence)
