"""Camera controllability: rotation error against the ground-truth path (MemoBench section 3.4, eq. 7), and the inactivity gate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.signal import savgol_filter
from scipy.spatial.transform import Rotation

from lookback.artifacts import PoseTrack, TruePoseTrack
from lookback.benchmarks.memobench.metrics.shared import memobench_metric, percent
from lookback.camera.poses import Poses, align_first_frame, net_rotation_deg, rotation_angle_deg, total_rotation_deg
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_equal_length, require_poses
from lookback.measures.scores import clip01
from lookback.scoring import Item, Scored, ScoringClip, Unit

THETA_0_DEG = 10.0
MOTION_GATE_DEG = 90.0  # table S5 keeps clips whose ground truth ends at least this far from its first frame
FIELD_OF_VIEW_RATIO = 1.25
ACTIVE_SHARE = 0.25  # a generated camera that turns less than this share of the truth's rotation is called inactive (ours)


def camera_errors(gt_c2w: ArrayLike, c2w: ArrayLike, *, theta_0: float = THETA_0_DEG) -> dict[str, float]:
    """Score, E_rot (RMSE of the geodesic angle after first-frame alignment) and Theta (net rotation of the truth), in degrees."""
    truth, estimate = require_poses(gt_c2w, "gt_c2w", at_least=2), require_poses(c2w, "c2w", at_least=2)
    require_equal_length(truth, estimate, "gt_c2w and c2w")
    angles = rotation_angle_deg(truth, align_first_frame(truth, estimate))
    error, turned = float(np.sqrt((angles**2).mean())), net_rotation_deg(truth)
    return {"score": clip01(1.0 - error / max(turned, theta_0)), "e_rot_deg": error, "theta_gt_deg": turned}


def camera_controllability(gt_c2w: ArrayLike, c2w: ArrayLike, *, theta_0: float = THETA_0_DEG) -> float:
    """clip(1 - E_rot / max(Theta_gt, 10 deg)) (MemoBench eq. 7), in [0,1].

    Both paths have the same frames (N,4,4); E_rot is the RMSE of the geodesic rotation angle once their first frames are aligned,
    Theta the angle between the truth's first and last frame.
    """
    return camera_errors(gt_c2w, c2w, theta_0=theta_0)["score"]


def inactivity_gate(gt_c2w: ArrayLike, c2w: ArrayLike, *, active_share: float = ACTIVE_SHARE) -> dict[str, float]:
    """Total rotation of the generated camera, compared with the truth's. A static camera would keep every consistency score high.

    `active` is 1 when the generated camera turned at least `active_share` of the truth's total rotation.
    """
    truth = total_rotation_deg(require_poses(gt_c2w, "gt_c2w", at_least=2))
    generated = total_rotation_deg(require_poses(c2w, "c2w", at_least=2))
    if not truth > 0.0:
        raise NotScorable(Reason.UNDEFINED, "the ground-truth camera does not turn")
    share = generated / truth
    return {"rotation_deg": generated, "gt_rotation_deg": truth, "share": share, "active": float(share >= active_share)}


def passes_motion_gate(gt_c2w: ArrayLike, *, min_rotation_deg: float = MOTION_GATE_DEG) -> bool:
    """Whether the ground-truth camera ends at least `min_rotation_deg` away from its first frame (MemoBench table S5).

    The paper's "total" rotation is Theta, the released program's TotalGT_RotDeg (automated/metrics/camera_controllability.py:301,
    :316, to three digits): a camera that comes back has turned by 0, however far it went.
    """
    return round(net_rotation_deg(require_poses(gt_c2w, "gt_c2w", at_least=2)), 3) >= min_rotation_deg


def smoothed(c2w: Poses, window: int) -> Poses:
    """The path with its rotations (as unit quaternions) fitted by a parabola in a window of frames around each (Savitzky-Golay).

    A plain mean would cut the turning point of a camera that pans away and back, which is what these clips show.
    """
    window = min(window, len(c2w) - 1 + len(c2w) % 2)
    if window < 5:
        return c2w
    quaternions = Rotation.from_matrix(c2w[:, :3, :3]).as_quat()
    turns = np.sign((quaternions[1:] * quaternions[:-1]).sum(axis=1))  # q and -q are the same rotation: neighbours must agree
    quaternions[1:] *= np.cumprod(np.where(turns < 0, -1.0, 1.0))[:, None]
    path = c2w.copy()
    path[:, :3, :3] = Rotation.from_quat(savgol_filter(quaternions, window, polyorder=2, axis=0)).as_matrix()
    return path


def require_same_angles(truth: PoseTrack, generated: PoseTrack) -> None:
    """NotScorable where one field of view was only assumed and the other differs: angles then differ by a factor."""
    widths = [np.degrees(2 * np.arctan((path.intrinsics[0, 0, 2] + 0.5) / path.intrinsics[0, 0, 0])) for path in (truth, generated)]
    assumed = any(path.focal_source.startswith("assumed") for path in (truth, generated))
    if assumed and max(widths) > FIELD_OF_VIEW_RATIO * min(widths):
        raise NotScorable(
            Reason.UNTRUSTED_PATH,
            f"the truth's field of view is {widths[0]:.0f} deg and the video's {widths[1]:.0f} deg, one of them assumed",
        )


def matched_paths(context: ScoringClip) -> tuple[Poses, Poses]:
    """(ground truth, generated) camera paths with one pose per generated pose.

    The truth is taken at the same relative times: between two true poses, or at the nearest. The paper smooths the paths of real
    clips, which are estimated; `smooth_real_truth` is the number of frames in a window, 0 for no smoothing.
    """
    generated, truth = context.artifact(PoseTrack).trusted(), context.artifact(TruePoseTrack).trusted()
    require_same_angles(truth, generated)
    count, true_count = context.need("n_frames"), context.clip.gt_frames or int(truth.frame_index.max()) + 1
    last, window = max(1, count - 1), int(context.number("smooth_real_truth"))
    if window > 0 and context.clip.setting == "real":
        truth = replace(truth, c2w=smoothed(truth.c2w, window))
    if context.setting("truth_frames") == "nearest":
        return truth.c2w[np.rint(generated.frame_index * (len(truth.c2w) - 1) / last).astype(int)], generated.c2w
    return truth.at(generated.frame_index / last * (true_count - 1)), generated.c2w


@memobench_metric(
    "camera_controllability",
    title="Camera controllability",
    needs=("video", "gt_poses"),
    roles=("pose", "gt_pose"),
    equation="clip(1 - E_rot / max(Theta_gt, 10 deg))",
    source="MemoBench section 3.4, eq. 7",
)
def score(context: ScoringClip) -> Scored:
    """Rotation error against the ground-truth path; each frame's angle is a unit."""
    truth, generated = matched_paths(context)
    theta_0 = context.number("theta_0_deg")
    found = camera_errors(truth, generated, theta_0=theta_0)
    angles = rotation_angle_deg(truth, align_first_frame(truth, generated))
    frames = context.artifact(PoseTrack).frame_index
    scale = max(found["theta_gt_deg"], theta_0)
    units = [
        Unit(f"f{int(frame)}", "frame", clip01(1.0 - float(angle) / scale), float(angle), int(frame))
        for frame, angle in zip(frames, angles, strict=True)
    ]
    detail = f"E_rot {found['e_rot_deg']:.2f} deg, net rotation of the truth {found['theta_gt_deg']:.2f} deg"
    value = percent(context, found["score"]) / 100.0
    return Scored([Item(value, found["e_rot_deg"], detail=detail, n_units=len(units))], units)


@memobench_metric(
    "camera_activity",
    title="Camera activity (inactivity gate)",
    unit="share of the truth's rotation",
    range=(0.0, None),
    needs=("video", "gt_poses"),
    roles=("pose", "gt_pose"),
    equation="total rotation of the generated camera / total rotation of the truth; inactive below 0.25",
    source="MemoBench appendix A (static cameras); the gate is ours",
)
def score_activity(context: ScoringClip) -> Scored:
    """Shows static cameras, which keep every consistency score high."""
    truth, generated = matched_paths(context)
    if context.artifact(PoseTrack).activity().moves == "none":  # the sum of small turns would count the noise of a still path
        generated = np.broadcast_to(generated[:1], generated.shape)
    gate = inactivity_gate(truth, generated, active_share=context.number("active_share"))
    detail = f"turned {gate['rotation_deg']:.1f} of {gate['gt_rotation_deg']:.1f} deg: {'active' if gate['active'] else 'inactive'}"
    return Scored([Item(gate["share"], gate["rotation_deg"], detail=detail, n_units=1)])
