"""Trigger-conditioned scoring (MBench section 4.1): reliability on triggered samples, coverage, and their harmonic mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.errors import NotScorable, Reason
from lookback.measures.normalise import harmonic_mean


def trigger_scores(scores: Sequence[float | None] | ArrayLike, triggered: ArrayLike) -> dict[str, float]:
    """S_rel, C_trig and M-Score of one model on one dimension.

    C_trig = N_trig / N_total (eq. 1); S_rel = mean of S(i) over triggered samples (eq. 2); M = 2 S C / (S + C) (eq. 3), 0 when both
    are 0. Untriggered samples carry no score: what stands at their place in `scores` (NaN, None, a number) is not read. A triggered
    sample without a score could not be measured: it counts as triggered and is left out of the mean.
    """
    values, fired = _as_floats(scores), _as_flags(triggered)
    if len(values) != len(fired):
        raise NotScorable(Reason.LENGTH_MISMATCH, f"scores and triggered: {len(values)} against {len(fired)}")
    if len(fired) == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no samples")
    coverage = float(fired.mean())
    measured = values[fired & ~np.isnan(values)]
    if fired.any() and len(measured) == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no triggered sample has a score")
    reliability = float(measured.mean()) if len(measured) else 0.0
    return {"s_rel": reliability, "c_trig": coverage, "m_score": harmonic_mean(reliability, coverage)}


def m_score(scores: Sequence[float | None] | ArrayLike, triggered: ArrayLike) -> float:
    """M-Score = 2 S_rel C_trig / (S_rel + C_trig), 0 when both are 0 (MBench eq. 1-3)."""
    return trigger_scores(scores, triggered)["m_score"]


def _as_floats(scores: Any) -> NDArray[np.float64]:
    try:
        values = np.array([np.nan if score is None else score for score in scores], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise NotScorable(Reason.INVALID_INPUT, f"scores: not a list of numbers ({error})") from error
    if np.isinf(values).any():
        raise NotScorable(Reason.INVALID_INPUT, "scores: contains infinity")
    return values


def _as_flags(triggered: Any) -> NDArray[np.bool_]:
    flags = np.asarray(triggered)
    if flags.ndim != 1 or (flags.dtype != bool and not np.isin(flags, [0, 1]).all()):
        raise NotScorable(Reason.INVALID_INPUT, "triggered: must be a list of true/false")
    return flags.astype(bool)
