"""CamAlign and static hold: did a prompt-only model move the camera the way it was asked (WRBench dimension ii)?"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from lookback.artifacts import PoseTrack
from lookback.benchmarks.wrbench.metrics.shared import (
    Request,
    Settings,
    angle_deg,
    clip_request,
    require_request,
    settings_of,
    wrbench_metric,
)
from lookback.camera.poses import Poses, relative_to_first, signed_peak, yaw_deg
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_poses
from lookback.measures.scores import clip01
from lookback.scoring import Item, Scored, ScoringClip, Unit

Status = Literal["ok", "weak_motion", "direction_mismatch", "motion_detected"]  # the released program's words


def cam_align(c2w: ArrayLike, request: Request) -> float:
    """Yaw: clip((|peak| - 2) / (30 - 2)), 0 when the direction is wrong or |peak| < 2 deg. Static: 1 - motion (WRBench D1).

    A positive peak is right-to-left ("RL"). Static hold is clip(1 - max(rot / 5 deg, |t| / 0.10)). A pan has no yaw and is
    not applicable: WRBench does not score it.
    """
    return alignment(c2w, request, settings_of("cam_align", "paper"))[0]


def static_hold(poses: Poses) -> float:
    """clip(1 - max(max rotation / 5 deg, max |t| / 0.10)), both relative to the first frame."""
    return alignment(poses, "static", settings_of("static_hold", "paper"))[0]


def alignment(c2w: ArrayLike, request: Request, context: Settings) -> tuple[float, Status]:
    """The score with its status; the released mean takes only rows whose status is `ok`."""
    require_request(request)
    poses = require_poses(c2w, at_least=2)
    if request == "static":
        held = _held(poses, context)
        return held, "ok" if held >= 1.0 else "motion_detected"
    if request.startswith("pan"):
        raise NotScorable(Reason.NOT_APPLICABLE, f"CamAlign scores yaw and static requests, not {request}")
    peak, weak = signed_peak(yaw_deg(poses)), context.number("weak_yaw_deg")
    if abs(peak) < weak:
        return 0.0, "weak_motion"
    if (peak > 0.0) != (request == "yaw_RL"):
        return 0.0, "direction_mismatch"
    return clip01((abs(peak) - weak) / (context.number("full_yaw_deg") - weak)), "ok"


def _held(poses: Poses, context: Settings) -> float:
    relative = np.linalg.inv(poses[0]) @ poses if context.setting("inverse") == "general" else relative_to_first(poses)
    turned = float(angle_deg(np.eye(3), relative, context).max())
    moved = float(np.linalg.norm(relative[:, :3, 3], axis=1).max())
    return clip01(1.0 - max(turned / context.number("hold_rotation_deg"), moved / context.number("hold_translation")))


def _require_interface(context: ScoringClip) -> None:
    if context.setting("interfaces") == "prompt_only" and context.clip.condition_type != "prompt-only":
        raise NotScorable(Reason.NOT_APPLICABLE, "the released table has this column for prompt-only models only")


def _item(value: float, status: Status, raw: float, detail: str, n_units: int, context: ScoringClip) -> Item:
    """The clip's item; where the released mean drops the row, which it still counts as eligible, the item has no value and says
    why."""
    if status != "ok" and context.setting("denominator") == "status_ok":
        dropped = f"{detail}; scored {value:g} with status {status}, which the released mean drops"
        return Item(None, raw, reason=str(Reason.UNDEFINED), detail=dropped)
    return Item(value, raw, detail=detail, n_units=n_units)


@wrbench_metric(
    "cam_align",
    title="CamAlign",
    needs=("video", "camera"),
    roles=("pose",),
    equation="clip((|peak yaw| - 2) / 28), 0 for the wrong direction",
    source="WRBench dimension (ii)",
)
def score(context: ScoringClip) -> Scored:
    """The yaw that the prompt asked for. In the paper's variant static requests are scored by `wrbench.static_hold`."""
    request = clip_request(context)
    _require_interface(context)
    if request == "static":
        if context.setting("static_requests") == "separate":
            raise NotScorable(Reason.NOT_APPLICABLE, "a static request is scored by wrbench.static_hold")
        return _static(context)
    path = context.artifact(PoseTrack).trusted()
    yaw = yaw_deg(path.c2w)
    value, status = alignment(path.c2w, request, context)
    peak, full = signed_peak(yaw), context.number("full_yaw_deg")
    units = [
        Unit(f"f{int(frame)}", "frame", clip01(abs(float(angle)) / full), float(angle), int(frame))
        for frame, angle in zip(path.frame_index, yaw, strict=True)
    ]
    return Scored([_item(value, status, peak, f"{request}: peak yaw {peak:.2f} deg", len(units), context)], units)


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
    _require_interface(context)
    return _static(context)


def _static(context: ScoringClip) -> Scored:
    value, status = alignment(context.artifact(PoseTrack).trusted().c2w, "static", context)
    return Scored([_item(value, status, value, "static", 1, context)])
