"""The probability of a Yes from token scores (WRBench eq. 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lookback.measures.scores import yes_probability

# WRBench's allowed answer tokens: three spellings, with and without a leading space
YES_TOKENS = ("Yes", "yes", "YES", " Yes", " yes", " YES")
NO_TOKENS = ("No", "no", "NO", " No", " no", " NO")


def p_yes(candidates: Sequence[tuple[str, float]]) -> float | None:
    """exp L_yes / (exp L_yes + exp L_no), L the log-sum-exp over the allowed tokens among an answer's candidates.

    A side that is not among the candidates has no mass (L = -inf); None when neither side has any.
    """
    yes = [score for token, score in candidates if token in YES_TOKENS]
    no = [score for token, score in candidates if token in NO_TOKENS]
    if max((*yes, *no), default=-math.inf) == -math.inf:
        return None
    return yes_probability(yes or [-math.inf], no or [-math.inf])
