"""Yes/no probes: visible and re-observed spatial and state consistency, D3 to D6 (WRBench eq. 4-8)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logsumexp

from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_probability

# how many probes of each polarity a dimension has
PROBES: dict[str, tuple[int, int]] = {
    "visible_spatial": (2, 1),
    "visible_state": (2, 1),
    "reobs_spatial": (1, 1),
    "reobs_state": (1, 1),
}


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


def probe_score(p_positive: ArrayLike, p_negative: ArrayLike) -> float:
    """Mean of p over positive and 1 - p over negative probes (WRBench eq. 5 and 6), in [0,1].

    A probe without an answer (NaN) makes the dimension missing.
    """
    answers = [np.atleast_1d(np.asarray(p, dtype=np.float64)) for p in (p_positive, p_negative)]
    if any(np.isnan(p).any() for p in answers) or sum(p.size for p in answers) == 0:
        raise NotScorable(Reason.PROBE_MISSING, "a probe of this dimension has no answer")
    positive, negative = (require_probability(p, "probe") if p.size else p for p in answers)
    return float(np.concatenate([positive, 1.0 - negative]).mean())
