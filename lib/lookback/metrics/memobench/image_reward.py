"""ImageReward: does the video fit the prompt (MemoBench section 3.4, "Prompt Fidelity")?"""

from __future__ import annotations

from numpy.typing import ArrayLike
from scipy.special import expit

from lookback.metrics.shared.checks import require_finite


def image_reward(raw: ArrayLike) -> float:
    """Mean over sampled frames of sigmoid(raw ImageReward), raw about -2..2; in [0,1]."""
    return float(expit(require_finite(raw, "raw", ndim=1)).mean())
