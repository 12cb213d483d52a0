"""From raw measures to scores: the maps that the papers print, the M-Score, and the probability of a Yes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logsumexp

from lookback.errors import NotScorable, Reason


def clip01(value: float) -> float:
    """The value cut to [0,1]."""
    return min(max(float(value), 0.0), 1.0)


def exp_decay(error: float, scale: float = 1.0) -> float:
    """exp(-error / scale): 1 at no error, towards 0 as it grows (MBench eq. 7, 8, 12; MemoBench eq. 3)."""
    if not (math.isfinite(error) and error >= 0.0):
        raise NotScorable(Reason.INVALID_INPUT, f"an error must be a finite number >= 0, not {error}")
    return math.exp(-error / scale)


def range_percent(value: float, low: float, high: float) -> float:
    """N(m; a, b) = 100 * clip((m - a) / (b - a)) (MemoBench eq. 1)."""
    return 100.0 * clip01((value - low) / (high - low))


def half_cosine(cosine: float) -> float:
    """(1 + cos) / 2: a cosine mapped to [0,1]."""
    return clip01((1.0 + cosine) / 2.0)


def harmonic_mean(a: float, b: float) -> float:
    """2ab / (a + b), and 0 when both are 0."""
    return 2.0 * a * b / (a + b) if a + b > 0.0 else 0.0


def trigger_scores(scores: Sequence[float | None] | ArrayLike, triggered: ArrayLike) -> dict[str, float]:
    """S_rel, C_trig and M-Score of one model on one dimension.

    C_trig = N_trig / N_total (eq. 1); S_rel = mean of S(i) over triggered samples (eq. 2); M = 2 S C / (S + C) (eq. 3), 0 when both
    are 0. Untriggered samples have no score: their entries in `scores` (NaN, None or a number) are ignored. A triggered sample
    without a score could not be measured: it counts as triggered and is left out of the mean.
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


def yes_probability(yes_logits: ArrayLike, no_logits: ArrayLike) -> float:
    """p_yes = exp L_yes / (exp L_yes + exp L_no), L the log-sum-exp over the allowed answer tokens (WRBench eq. 4).

    A token that the judge did not return may be -inf, but not all of them.
    """
    sides = [np.atleast_1d(np.asarray(logits, dtype=np.float64)) for logits in (yes_logits, no_logits)]
    if any(side.size == 0 or np.isnan(side).any() or np.isposinf(side).any() for side in sides):
        raise NotScorable(Reason.JUDGE_UNPARSED, "the yes and no tokens need scores that are numbers")
    yes, no = (float(logsumexp(side)) for side in sides)
    if np.isneginf(yes) and np.isneginf(no):
        raise NotScorable(Reason.JUDGE_UNPARSED, "neither yes nor no has any probability")
    return float(expit(yes - no))
