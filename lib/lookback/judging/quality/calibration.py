"""Is a judge as right as it says it is? Reliability of p_yes against known labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lookback.errors import NotScorable, Reason

BINS = 10


def calibration_table(probability: ArrayLike, truth: ArrayLike, bins: int = BINS) -> pd.DataFrame:
    """Equal-width bins of p_yes: how many answers, their mean p_yes, and the share that is truly yes."""
    p, yes = _pair(probability, truth)
    place = np.minimum((p * bins).astype(int), bins - 1)
    rows = []
    for index in np.unique(place):
        chosen = place == index
        rows.append((index / bins, (index + 1) / bins, int(chosen.sum()), float(p[chosen].mean()), float(yes[chosen].mean())))
    return pd.DataFrame(rows, columns=["low", "high", "n", "mean_p_yes", "share_yes"])


def calibration(probability: ArrayLike, truth: ArrayLike, bins: int = BINS) -> dict[str, float]:
    """Brier = mean (p - y)^2; expected calibration error = sum_b n_b/n |share_b - mean p_b|; accuracy at 0.5; n."""
    p, yes = _pair(probability, truth)
    table = calibration_table(p, yes, bins)
    error = float((table["n"] * (table["share_yes"] - table["mean_p_yes"]).abs()).sum() / len(p))
    return {
        "brier": float(np.mean((p - yes) ** 2)),
        "calibration_error": error,
        "accuracy": float(np.mean((p >= 0.5) == (yes == 1))),
        "n": float(len(p)),
    }


def _pair(probability: ArrayLike, truth: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    p, yes = np.asarray(probability, np.float64), np.asarray(truth, np.float64)
    if len(p) == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no answer has a label to compare with")
    if len(p) != len(yes):
        raise NotScorable(Reason.LENGTH_MISMATCH, f"{len(p)} probabilities against {len(yes)} labels")
    if not (np.isfinite(p).all() and p.min() >= 0 and p.max() <= 1 and np.isin(yes, [0, 1]).all()):
        raise NotScorable(Reason.INVALID_INPUT, "probabilities lie in [0,1] and labels are 0 or 1")
    return p, yes
