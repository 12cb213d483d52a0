"""CamPrec: did the video follow the requested camera path (WRBench dimension i)?"""

from __future__ import annotations

import math

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
from lookback.benchmarks.wrbench.sidecar import main_profile_faults
from lookback.camera.poses import Poses, align_first_frame, relative_to_first, signed_peak, yaw_deg
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant, require_equal_length, require_poses
from lookback.measures.requested import given_poses
from lookback.measures.scores import clip01
from lookback.scoring import Item, Scored, ScoringClip, Unit

EPSILON = 1e-8


def cam_prec(target_c2w: ArrayLike, c2w: ArrayLike, request: Request, *, variant: Variant = "paper") -> float:
    """exp(-(rot / 45 deg + trans / 1)), and 0 when the camera did not turn or went the wrong way (WRBench D1, in [0,1]).

    After alignment of the first frames, rot is the mean geodesic angle in degrees and trans = RMS(t - s p) / (RMS(t) + 1e-8) with
    s = max(<t,p> / <p,p>, 0). Static: 1 if the camera turned at most 2 deg and moved at most 0.05, else 0. A pure-yaw target has
    RMS(t) = 0 and s = 0, so drift costs nothing; `corrected` then takes RMS(p), the drift itself, as trans.
    """
    return camera_precision(target_c2w, c2w, request, variant=variant)["score"]


def camera_precision(target_c2w: ArrayLike, c2w: ArrayLike, request: Request, *, variant: Variant = "paper") -> dict[str, float]:
    """The CamPrec score with what it is made of: rotation and translation error, the signed peaks of both paths."""
    return precision_parts(target_c2w, c2w, request, settings_of("cam_prec", variant))


def precision_parts(target_c2w: ArrayLike, c2w: ArrayLike, request: Request, context: Settings) -> dict[str, float]:
    """The same with the settings of a run."""
    require_request(request)
    target, estimate = require_poses(target_c2w, "target_c2w", at_least=2), require_poses(c2w, "c2w", at_least=2)
    require_equal_length(target, estimate, "target_c2w and c2w")
    aligned = align_first_frame(target, estimate)
    rotation = float(angle_deg(target, aligned, context).mean())
    translation = _translation_error(target, estimate, context)
    peaks = _peaks(target, aligned, request, context)
    if request == "static":
        score = float(_holds_still(estimate, context))
    elif _same_direction(*peaks, context.number("weak_pan" if request.startswith("pan") else "weak_yaw_deg"), context):
        scaled = rotation / context.number("rotation_scale_deg") + translation / context.number("translation_scale")
        score = clip01(math.exp(-scaled))
    else:
        score = 0.0
    return {"score": score, "rotation_deg": rotation, "translation": translation, "target_peak": peaks[0], "peak": peaks[1]}


def _translation_error(target: Poses, estimate: Poses, context: Settings) -> float:
    wanted, made = (relative_to_first(poses)[:, :3, 3] for poses in (target, estimate))
    made_squared, wanted_rms = float((made**2).sum()), _rms(wanted)
    if context.setting("drift") == "counts" and wanted_rms < EPSILON:
        return _rms(made)
    scale = max(float((wanted * made).sum()) / made_squared, 0.0) if made_squared > context.number("unscaled_below") else 1.0
    return _rms(wanted - scale * made) / (wanted_rms + EPSILON)


def _rms(vectors: np.ndarray) -> float:
    """Root of the mean squared length."""
    return float(np.sqrt((vectors**2).sum(axis=1).mean()))


def _peaks(target: Poses, aligned: Poses, request: Request, context: Settings) -> tuple[float, float]:
    """The largest yaw of both paths, or for a pan the largest way to the side: of the first camera, or of the target's world."""
    if not request.startswith("pan"):
        return signed_peak(yaw_deg(target)), signed_peak(yaw_deg(aligned))
    if context.setting("pan_axis") == "world":
        return signed_peak((target - target[0])[:, 0, 3]), signed_peak((aligned - aligned[0])[:, 0, 3])
    return signed_peak(relative_to_first(target)[:, 0, 3]), signed_peak(relative_to_first(aligned)[:, 0, 3])


def _same_direction(wanted: float, made: float, weak: float, context: Settings) -> bool:
    smaller = min(abs(wanted), abs(made))
    moved = smaller > weak or (smaller == weak and context.setting("peak_at_limit") == "moves")
    return moved and (wanted > 0.0) == (made > 0.0)


def _holds_still(poses: Poses, context: Settings) -> bool:
    relative = relative_to_first(poses)
    turned = angle_deg(np.eye(3), relative, context).max()
    moved = np.linalg.norm(relative[:, :3, 3], axis=1).max()
    return bool(turned <= context.number("still_rotation_deg") and moved <= context.number("still_translation"))


@wrbench_metric(
    "cam_prec",
    title="CamPrec",
    needs=("video", "camera", "target_poses"),
    roles=("pose",),
    equation="exp(-(rot / 45 deg + trans / 1)), 0 for the wrong direction or no motion",
    source="WRBench dimension (i)",
)
def score(context: ScoringClip) -> Scored:
    """The estimated path against the trajectory the model was given; prompt-only models were given none."""
    if context.clip.condition_type == "prompt-only":
        raise NotScorable(Reason.NOT_APPLICABLE, "a prompt-only model was given no trajectory")
    request = clip_request(context)
    if context.setting("profile") == "main" and (faults := main_profile_faults(context.clip.extras)):
        raise NotScorable(Reason.NOT_APPLICABLE, f"not a target of the main table: {'; '.join(faults)}")
    given, count = given_poses(context), context.need("n_frames")
    if len(given) != count:
        raise NotScorable(Reason.LENGTH_MISMATCH, f"the trajectory has {len(given)} poses, the video {count} frames")
    path = context.artifact(PoseTrack).trusted()
    target = given[path.frame_index]
    found = precision_parts(target, path.c2w, request, context)
    angles = angle_deg(target, align_first_frame(target, path.c2w), context)
    scale = context.number("rotation_scale_deg")
    units = [
        Unit(f"f{int(frame)}", "frame", math.exp(-float(angle) / scale), float(angle), int(frame))
        for frame, angle in zip(path.frame_index, angles, strict=True)
    ]
    detail = f"rotation {found['rotation_deg']:.2f} deg, translation {found['translation']:.3f}, peak {found['peak']:.2f}"
    return Scored([Item(found["score"], found["rotation_deg"], detail=detail, n_units=len(units))], units)
