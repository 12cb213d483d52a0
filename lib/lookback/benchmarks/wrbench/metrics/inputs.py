"""Which of WRBench's five camera requests a clip was given."""

from __future__ import annotations

import numpy as np

from lookback.benchmarks.wrbench.metrics.requests import REQUESTS, Request, signed_peak
from lookback.camera.poses import relative_to_first, turned_yaw_deg
from lookback.errors import NotScorable, Reason
from lookback.measures.requested import requested_poses
from lookback.scoring import ScoringClip

STILL_DEG, STILL_UNITS = 0.5, 1e-3


def clip_request(context: ScoringClip) -> Request:
    """The preset's name, or the preset that the requested path amounts to."""
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
