"""How many votes tell two models apart?

A vote scores 1, 1/2 (tie) or 0 for model A; with true win ratio w and tie share t its variance is w - t/4 - w^2, under equality
(1 - t)/4. A two-sided z test of w = 1/2 reaches the wanted power with
    n = ((z_{1-alpha/2} sd_0 + z_power sd_1) / (w - 1/2))^2 * design effect
votes on pairs of these two models. The design effect is 1 + (votes per scene - 1) * intra-scene correlation.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import pandas as pd
from scipy import stats

from lookback.errors import NotScorable, Reason, UsageError


def votes_needed(
    win_ratio: float, *, tie_share: float = 0.0, alpha: float = 0.05, power: float = 0.8, design_effect: float = 1.0
) -> int:
    """Votes on head-to-head pairs needed to tell the better model with the given power at two-sided level `alpha`.

    >>> votes_needed(0.6), votes_needed(0.6, tie_share=0.3)
    (194, 135)
    """
    if not (0 < win_ratio < 1 and 0 <= tie_share < 1 and 0 < alpha < 1 and 0 < power < 1 and design_effect > 0):
        raise UsageError("win_ratio, alpha and power lie in (0, 1), tie_share in [0, 1), design_effect above 0")
    if tie_share / 2 > min(win_ratio, 1 - win_ratio) + 1e-12:
        raise UsageError(f"a win ratio of {win_ratio} cannot have {tie_share:.0%} ties: ties alone would pull it nearer to 1/2")
    if win_ratio == 0.5:
        raise NotScorable(Reason.UNDEFINED, "models with equal win ratios cannot be told apart by any number of votes")
    null_sd = np.sqrt((1 - tie_share) / 4)
    true_sd = np.sqrt(max(0.0, win_ratio - tie_share / 4 - win_ratio**2))
    z = stats.norm.ppf(1 - alpha / 2) * null_sd + stats.norm.ppf(power) * true_sd
    return ceil((z / (win_ratio - 0.5)) ** 2 * design_effect - 1e-9)


def power_table(
    win_ratios: Sequence[float] = (0.55, 0.6, 0.65, 0.7, 0.75, 0.8),
    *,
    tie_share: float = 0.0,
    alpha: float = 0.05,
    power: float = 0.8,
    design_effect: float = 1.0,
    comparisons: int = 1,
) -> pd.DataFrame:
    """Rows (win_ratio, tie_share, votes, votes_corrected): alone, and with alpha / `comparisons` (Holm's first step)."""
    rows = []
    for ratio in win_ratios:
        if tie_share / 2 > min(ratio, 1 - ratio):
            continue
        settings = {"tie_share": tie_share, "power": power, "design_effect": design_effect}
        alone = votes_needed(ratio, alpha=alpha, **settings)
        corrected = votes_needed(ratio, alpha=alpha / comparisons, **settings)
        rows.append({"win_ratio": ratio, "tie_share": tie_share, "votes": alone, "votes_corrected": corrected})
    return pd.DataFrame(rows, columns=["win_ratio", "tie_share", "votes", "votes_corrected"])
