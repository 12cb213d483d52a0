"""The camera requests WRBench scores, and the peak of a signed motion."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lookback.errors import UsageError

Request = Literal["yaw_LR", "yaw_RL", "pan_LR", "pan_RL", "static"]
REQUESTS: tuple[Request, ...] = ("yaw_LR", "yaw_RL", "pan_LR", "pan_RL", "static")
WEAK_YAW_DEG = 2.0  # a smaller peak is no turn


def require_request(request: str) -> None:
    """The request is one of the five presets."""
    if request not in REQUESTS:
        raise UsageError(f"There is no camera request '{request}'; WRBench scores {', '.join(REQUESTS)}.")


def signed_peak(values: NDArray[np.float64]) -> float:
    """The value of largest magnitude, with its sign."""
    return float(values[np.argmax(np.abs(values))])
