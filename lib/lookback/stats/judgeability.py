"""Agreement on judgeability: do judge and people find the same hidden-and-returned evidence (WRBench table 16: J, NJ, balanced)?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lookback.errors import NotScorable, Reason
from lookback.stats.binary import FN, FP, TN, TP, measure_row, outcome_cells, ratio_measure, share_measure


def judgeability_agreement(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Tidy rows (measure, value, low, high, n, reason): J, NJ, balanced, overall.

    J is the judge's agreement where people find the clip judgeable, NJ where they do not, balanced = (J + NJ)/2 so that the more
    frequent answer does not hide the other.
    """
    cells = outcome_cells(human, judge)
    if len(cells) == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no clip has both a human and a judge's judgeability")

    def share(name: str, hits: tuple[int, ...], among: tuple[int, ...]) -> dict[str, object]:
        return measure_row(lambda: share_measure(name, cells, hits, among, clusters, confidence), name)

    balanced = measure_row(lambda: ratio_measure("balanced", cells, _balanced, clusters, resamples, confidence, seed), "balanced")
    rows = [
        share("J", (TP,), (TP, FN)),
        share("NJ", (TN,), (TN, FP)),
        balanced,
        share("overall", (TP, TN), (TP, FP, FN, TN)),
    ]
    return pd.DataFrame(rows)


def _balanced(totals: np.ndarray) -> np.ndarray:
    return (totals[:, TP] / (totals[:, TP] + totals[:, FN]) + totals[:, TN] / (totals[:, TN] + totals[:, FP])) / 2
