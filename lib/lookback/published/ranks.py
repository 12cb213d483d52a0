"""How certain is a place in a printed table? Three answers from printed numbers.

Rounding: a printed number can be anything within half of its last digit, so a place becomes a range of places. Dimensions: an
overall order depends on the dimensions that were averaged; resampling them shows how much. Clips: if a paper prints a share with
its n, or a mean with sd and n, `lookback.stats.rank_intervals` gives the places that the sampling error allows. The papers print no
other spread.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from lookback.errors import NotScorable, Reason
from lookback.stats import rank_intervals

CONFIDENCE = 0.95
SLACK = 1e-9


def rounding_ranges(values: Sequence[float], halves: Sequence[float]) -> pd.DataFrame:
    """Place (1 is the largest) and the range of places that rounding allows; missing numbers get no place.

    Best place: 1 + the number of values that are certainly larger. Worst place: 1 + the number of values that may be larger. Values
    that differ in the last digit keep their order, so only equal values (or columns with mixed digits) give a range.

    >>> rounding_ranges([0.90, 0.80, 0.80], [0.005] * 3).to_numpy().tolist()
    [[1.0, 1.0, 1.0], [2.0, 2.0, 3.0], [2.0, 2.0, 3.0]]
    """
    centre, half = np.asarray(values, dtype=float), np.asarray(halves, dtype=float)
    table = pd.DataFrame(np.nan, index=range(len(centre)), columns=["rank", "best", "worst"])
    present = np.flatnonzero(np.isfinite(centre))
    low, high = centre - half, centre + half
    for i in present:
        others = present[present != i]
        table.loc[i] = [
            1 + (centre[others] > centre[i]).sum(),
            1 + (low[others] >= high[i] - SLACK).sum(),
            1 + (high[others] > low[i] + SLACK).sum(),
        ]
    return table


def overall_ranks(scores: pd.DataFrame, *, resamples: int = 2000, seed: int = 0, confidence: float = CONFIDENCE) -> pd.DataFrame:
    """Overall place by mean rank over the dimensions, with a percentile interval from resampling dimensions (not clips).

    Mean rank, because dimensions have different scales. Dimensions with a missing model are left out, so that every model is
    averaged over the same ones.
    """
    complete = scores.dropna(axis=1)
    if complete.shape[1] < 2 or len(complete) < 2:
        raise NotScorable(Reason.TOO_FEW_VALUES, "an overall order needs two models and two dimensions without gaps")
    places = rankdata(-complete.to_numpy(), axis=0)
    drawn = np.random.default_rng(seed).integers(places.shape[1], size=(resamples, places.shape[1]))
    again = rankdata(places[:, drawn].mean(axis=2), axis=0)
    low, high = np.quantile(again, [(1 - confidence) / 2, (1 + confidence) / 2], axis=1, method="closest_observation")
    means = places.mean(axis=1)
    return pd.DataFrame(
        {"rank": rankdata(means, method="min"), "low": np.floor(low), "high": np.ceil(high), "mean_rank": means},
        index=scores.index,
    ).astype({"rank": int, "low": int, "high": int})


def share_places(percent: Sequence[float], n: Sequence[int], *, confidence: float = CONFIDENCE) -> pd.DataFrame:
    """Interval of each model's place (`rank_intervals`) from shares of n; one success and one failure are added to each share.

    The addition keeps the error of shares of 0 and 1 above zero (Agresti & Caffo 2000, Am. Stat. 54:280-288).
    """
    size = np.asarray(n, dtype=float) + 2
    share = (np.round(np.asarray(percent) * np.asarray(n) / 100) + 1) / size
    return rank_intervals(share, np.sqrt(share * (1 - share) / size), confidence=confidence)
