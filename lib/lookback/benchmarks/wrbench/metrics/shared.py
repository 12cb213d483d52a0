"""What WRBench's metrics share: how they are registered, and which of the five camera requests a clip was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from lookback.camera.poses import relative_to_first, signed_peak, turned_yaw_deg
from lookback.errors import NotScorable, Reason, UsageError
from lookback.measures.requested import requested_poses
from lookback.registry import metric
from lookback.scoring import ScoringClip


def wrbench_metric(name: str, **declaration: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register under `wrbench.<name>`: a score in [0,1], higher is better; the declaration may name another unit."""
    common: dict[str, Any] = {"benchmark": "wrbench", "unit": "score", "range": (0.0, 1.0), "higher_is_better": True}
    return metric(name=f"wrbench.{name}", **{**common, **declaration})


Request = Literal["yaw_LR", "yaw_RL", "pan_LR", "pan_RL", "static"]
REQUESTS: tuple[Request, ...] = ("yaw_LR", "yaw_RL", "pan_LR", "pan_RL", "static")
WEAK_YAW_DEG = 2.0  # a smaller peak is no turn


def require_request(request: str) -> None:
    """The request is one of the five presets."""
    if request not in REQUESTS:
        raise UsageError(f"There is no camera request '{request}'; WRBench scores {', '.join(REQUESTS)}.")


STILL_DEG, STILL_UNITS = 0.5, 1e-3


def clip_request(context: ScoringClip) -> Request:
    """The name of the preset, or of the preset that the requested path is closest to."""
    camera = context.need("camera")
    for request in REQUESTS:
        if camera == request:
            return request
    poses = requested_poses(context, context.need("n_frames"))
    yaw, across = signed_peak(turned_yaw_deg(poses)), signed_peak(relative_to_first(poses)[:, 0, 3])
    moved = float(np.linalg.norm(relative_to_first(poses)[:, :3, 3], axis=1).max())
    if abs(yaw) > STILL_DEG:
        return "yaw_RL" if yaw > 0 else "yaw_LR"
    if abs(across) > STILL_UNITS:
        return "pan_RL" if across > 0 else "pan_LR"
    if moved <= STILL_UNITS:
        return "static"
    raise NotScorable(Reason.NOT_APPLICABLE, f"the request '{camera}' is neither a yaw, a pan nor static")
