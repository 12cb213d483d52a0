"""Leave one annotator out: how each agrees with the others, and what the panel's agreement is without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lookback.errors import NotScorable, Reason
from lookback.stats.codes import MISSING, check_categories, rating_codes, vote_counts
from lookback.stats.confusion import proportion
from lookback.stats.estimate import Estimate
from lookback.stats.gwet import gwet_ac1


def leave_one_annotator_out(
    ratings: pd.DataFrame | ArrayLike,
    categories: Sequence[Any],
    *,
    statistic: Callable[..., Estimate] = gwet_ac1,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """One row per annotator: agreement with the others' majority (n, rate, Wilson interval) and the panel statistic without them.

    `change` is the statistic without the annotator minus the statistic with everybody: clearly positive means the annotator pulls
    agreement down. `reason` is filled where a cell cannot be computed.
    """
    declared = check_categories(categories)
    codes = rating_codes(ratings, declared)
    if (codes != MISSING).any(axis=0).sum() < 2:
        raise NotScorable(Reason.TOO_FEW_VALUES, "leaving one annotator out needs at least two annotators")
    raters = ratings.columns if isinstance(ratings, pd.DataFrame) else pd.RangeIndex(codes.shape[1])
    labels, voters = _packed(codes, declared)
    everybody = statistic(labels, declared).value
    everyone = vote_counts(codes, len(declared))
    rows = []
    for position, annotator in enumerate(raters):
        own = codes[:, position]
        counts = everyone - (own[:, None] == np.arange(len(declared)))
        decided = counts.max(axis=1) > counts.sum(axis=1) / 2
        compared = decided & (own != MISSING)
        row: dict[str, Any] = {"annotator": annotator, "n_votes": int((own != MISSING).sum()), "n_compared": int(compared.sum())}
        reasons = []
        try:
            hits = int((counts.argmax(axis=1) == own)[compared].sum())
            rate = proportion("agreement with the others", hits, int(compared.sum()), confidence)
            row |= {"agreement": rate.value, "low": rate.low, "high": rate.high}
        except NotScorable as missing:
            row |= {"agreement": np.nan, "low": np.nan, "high": np.nan}
            reasons.append(str(missing))
        try:
            kept = labels.copy()
            kept[voters == position] = None
            without = statistic(kept, declared).value
            row |= {"without": without, "change": without - everybody}
        except NotScorable as missing:
            row |= {"without": np.nan, "change": np.nan}
            reasons.append(str(missing))
        rows.append({**row, "reason": "; ".join(reasons)})
    return pd.DataFrame(rows)


def _packed(codes: NDArray[np.int64], declared: list[Any]) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """Labels and raters moved to the left (items x most votes on an item): small when each rater saw few of the items."""
    item, rater = np.nonzero(codes != MISSING)
    position = np.arange(len(item)) - np.searchsorted(item, item)
    labels = np.full((len(codes), int(position.max()) + 1), None, dtype=object)
    voters = np.full(labels.shape, MISSING)
    labels[item, position] = np.array(declared, dtype=object)[codes[item, rater]]
    voters[item, position] = rater
    return labels, voters
