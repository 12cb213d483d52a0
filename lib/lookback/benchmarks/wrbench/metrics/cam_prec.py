"""CamPrec: did the video follow the requested camera path (WRBench dimension i)?"""

from __future__ import annotations

import math

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
from lookback.camera.poses import Poses, align_first_frame, relative_to_first, rotation_angle_deg, signed_peak, yaw_deg
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant, require_equal_length, require_poses, require_variant
from lookback.measures.requested import given_poses
from lookback.measures.scores import clip01
from lookback.scoring import Item, Scored, ScoringClip, Unit

ROTATION_SCALE_DEG = 45.0
TRANSLATION_SCALE = 1.0
WEAK_PAN = 1e-4  # world units; a smaller peak is no pan
STATIC_ROTATION_DEG = 2.0
STATIC_TRANSLATION = 0.05
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
    require_variant(variant, ("paper", "official", "corrected"))
    require_request(request)
    target, estimate = require_poses(target_c2w, "target_c2w", at_least=2), require_poses(c2w, "c2w", at_least=2)
    require_equal_length(target, estimate, "target_c2w and c2w")
    rotation = float(rotation_angle_deg(target, align_first_frame(target, estimate)).mean())
    translation = _translation_error(target, estimate, variant)
    peaks = _peaks(target, estimate, request)
    if request == "static":
        score = float(_holds_still(estimate))
    elif _same_direction(*peaks, WEAK_PAN if request.startswith("pan") else WEAK_YAW_DEG):
        score = clip01(math.exp(-(rotation / ROTATION_SCALE_DEG + translation / TRANSLATION_SCALE)))
    else:
        score = 0.0
    return {"score": score, "rotation_deg": rotation, "translation": translation, "target_peak": peaks[0], "peak": peaks[1]}


def _translation_error(target: Poses, estimate: Poses, variant: Variant) -> float:
    wanted, made = (relative_to_first(poses)[:, :3, 3] for poses in (target, estimate))
    made_squared, wanted_rms = float((made**2).sum()), _rms(wanted)
    if variant == "corrected" and wanted_rms < EPSILON:
        return _rms(made)
    scale = max(float((wanted * made).sum()) / made_squared, 0.0) if made_squared > 0.0 else 0.0
    return _rms(wanted - scale * made) / (wanted_rms + EPSILON)


def _rms(vectors: np.ndarray) -> float:
    """Root of the mean squared length."""
    return float(np.sqrt((vectors**2).sum(axis=1).mean()))


def _peaks(target: Poses, estimate: Poses, request: Request) -> tuple[float, float]:
    if request.startswith("pan"):
        return signed_peak(relative_to_first(target)[:, 0, 3]), signed_peak(relative_to_first(estimate)[:, 0, 3])
    return signed_peak(yaw_deg(target)), signed_peak(yaw_deg(estimate))


def _same_direction(wanted: float, made: float, weak: float) -> bool:
    return abs(wanted) >= weak and abs(made) >= weak and (wanted > 0.0) == (made > 0.0)


def _holds_still(poses: Poses) -> bool:
    relative = relative_to_first(poses)
    turned = rotation_angle_deg(np.eye(3), relative).max()
    return bool(turned <= STATIC_ROTATION_DEG and np.linalg.norm(relative[:, :3, 3], axis=1).max() <= STATIC_TRANSLATION)


@wrbench_metric(
    "cam_prec",
    title="CamPrec",
    needs=("video", "camera", "target_poses"),
    roles=("pose",),
    equation="exp(-(rot / 45 deg + trans / 1)), 0 for the wrong direction or no motion",
    source="WRBench dimension (i)",
    differences={"corrected": "a pure-yaw target leaves translation drift unpunished; here the drift counts"},
    variants=("paper", "corrected"),
)
def score(context: ScoringClip) -> Scored:
    """The estimated path against the trajectory the model was given; prompt-only models were given none."""
    if context.clip.condition_type == "prompt-only":
        raise NotScorable(Reason.NOT_APPLICABLE, "a prompt-only model was given no trajectory")
    given, count = given_poses(context), context.need("n_frames")
    if len(given) != count:
        raise NotScorable(Reason.LENGTH_MISMATCH, f"the trajectory has {len(given)} poses, the video {count} frames")
    path = context.artifact(PoseTrack)
    target = given[path.frame_index]
    variant: Variant = "corrected" if context.variant == "corrected" else "paper"
    found = camera_precision(target, path.c2w, clip_request(context), variant=variant)
    angles = rotation_angle_deg(target, align_first_frame(target, path.c2w))
    units = [
        Unit(f"f{int(frame)}", "frame", math.exp(-float(angle) / ROTATION_SCALE_DEG), float(angle), int(frame))
        for frame, angle in zip(path.frame_index, angles, strict=True)
    ]
    detail = f"rotation {found['rotation_deg']:.2f} deg, translation {found['translation']:.3f}, peak {found['peak']:.2f}"
    return Scored([Item(found["score"], found["rotation_deg"], detail=detail, n_units=len(units))], units)
