"""The probability of a Yes from the scores of answer tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logsumexp

from lookback.errors import NotScorable, Reason


def yes_probability(yes_logits: ArrayLike, no_logits: ArrayLike) -> float:
    """p_yes = exp L_yes / (exp L_yes + exp L_no), L the log-sum-exp over the allowed answer tokens (WRBench eq. 4).

    Tokens the judge did not return may stand as -inf; at least one on either side must be finite.
    """
    sides = [np.atleast_1d(np.asarray(logits, dtype=np.float64)) for logits in (yes_logits, no_logits)]
    if any(side.size == 0 or np.isnan(side).any() or np.isposinf(side).any() for side in sides):
        raise NotScorable(Reason.JUDGE_UNPARSED, "the yes and no tokens need scores that are numbers")
    yes, no = (float(logsumexp(side)) for side in sides)
    if np.isneginf(yes) and np.isneginf(no):
        raise NotScorable(Reason.JUDGE_UNPARSED, "neither yes nor no has any probability")
    return float(expit(yes - no))
