"""Percent agreement: the share of rater pairs that gave an item the same label, before any correction for chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lookback.stats.chance import item_terms, t_interval
from lookback.stats.codes import check_categories, cluster_codes, rating_codes, vote_counts
from lookback.stats.estimate import Estimate
from lookback.stats.weights import WeightKind, agreement_weights


def percent_agreement(
    ratings: pd.DataFrame | ArrayLike,
    categories: Sequence[Any],
    *,
    weights: WeightKind = "nominal",
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """p_a = mean over items with two or more votes of the (weighted) share of agreeing rater pairs, as a fraction."""
    declared = check_categories(categories)
    codes = rating_codes(ratings, declared)
    groups = cluster_codes(clusters, len(codes))
    terms = item_terms(vote_counts(codes, len(declared)), agreement_weights(declared, weights))
    paired = ~np.isnan(terms.agreement)
    value = float(terms.agreement[paired].mean())
    estimate = t_interval("percent agreement", value, terms.agreement[paired] - value, groups[paired], confidence, cap=1.0)
    low = None if estimate.low is None else max(0.0, estimate.low)
    return Estimate(
        estimate.name, value, estimate.n, low, estimate.high, estimate.se, None, confidence, estimate.method, estimate.note
    )
