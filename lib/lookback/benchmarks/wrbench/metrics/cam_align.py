"""CamAlign and static hold: did a prompt-only model move the camera the way it was asked (WRBench dimension ii)?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lookback.artifacts import PoseTrack
from lookback.benchmarks.wrbench.metrics.shared import (
    WEAK_YAW_DEG,
    Request,
    clip_request,
    require_request,
    wrbench_metric,
)
from lookback.camera.poses import Poses, relative_to_first, rotation_angle_deg, signed_peak, yaw_deg
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_poses
from lookback.measures.scores import clip01
from lookback.scoring import Item, Scored, ScoringClip, Unit

FULL_YAW_DEG = 30.0  # a peak from which the score is 1
STATIC_ROTATION_DEG = 5.0
STATIC_TRANSLATION = 0.10


def cam_align(c2w: ArrayLike, request: Request) -> float:
    """Yaw: clip((|peak| - 2) / (30 - 2)), 0 when the direction is wrong or |peak| < 2 deg. Static: 1 - motion (WRBench D1).

    A positive peak is right-to-left ("RL"). Static hold is clip(1 - max(rot / 5 deg, |t| / 0.10)). A pan has no yaw and is
    not applicable: WRBench does not score it.
    """
    require_request(request)
    poses = require_poses(c2w, at_least=2)
    if request == "static":
        return static_hold(poses)
    if request.startswith("pan"):
        raise NotScorable(Reason.NOT_APPLICABLE, f"CamAlign scores yaw and static requests, not {request}")
    peak = signed_peak(yaw_deg(poses))
    if abs(peak) < WEAK_YAW_DEG or (peak > 0.0) != (request == "yaw_RL"):
        return 0.0
    return clip01((abs(peak) - WEAK_YAW_DEG) / (FULL_YAW_DEG - WEAK_YAW_DEG))


def static_hold(poses: Poses) -> float:
    """clip(1 - max(max rotation / 5 deg, max |t| / 0.10)), both relative to the first frame."""
    relative = relative_to_first(poses)
    turned = float(rotation_angle_deg(np.eye(3), relative).max())
    moved = float(np.linalg.norm(relative[:, :3, 3], axis=1).max())
    return clip01(1.0 - max(turned / STATIC_ROTATION_DEG, moved / STATIC_TRANSLATION))


@wrbench_metric(
    "cam_align",
    title="CamAlign",
    needs=("video", "camera"),
    roles=("pose",),
    equation="clip((|peak yaw| - 2) / 28), 0 for the wrong direction",
    source="WRBench dimension (ii)",
)
def score(context: ScoringClip) -> Scored:
    """The yaw that the prompt asked for. Static requests are scored by `wrbench.static_hold`."""
    request = clip_request(context)
    if request == "static":
        raise NotScorable(Reason.NOT_APPLICABLE, "a static request is scored by wrbench.static_hold")
    path = context.artifact(PoseTrack)
    yaw = yaw_deg(path.c2w)
    value, peak = cam_align(path.c2w, request), signed_peak(yaw)
    units = [
        Unit(f"f{int(frame)}", "frame", clip01(abs(float(angle)) / FULL_YAW_DEG), float(angle), int(frame))
        for frame, angle in zip(path.frame_index, yaw, strict=True)
    ]
    return Scored([Item(value, peak, detail=f"{request}: peak yaw {peak:.2f} deg", n_units=len(units))], units)


@wrbench_metric(
    "static_hold",
    title="Static hold",
    needs=("video", "camera"),
    roles=("pose",),
    equation="clip(1 - max(rotation / 5 deg, |t| / 0.10))",
    source="WRBench dimension (ii), static requests",
)
def score_static(context: ScoringClip) -> Scored:
    """Does a camera that was asked to stand still do so?"""
    if clip_request(context) != "static":
        raise NotScorable(Reason.NOT_APPLICABLE, "the request is not static")
    value = cam_align(context.artifact(PoseTrack).c2w, "static")
    return Scored([Item(value, value, n_units=1)])
