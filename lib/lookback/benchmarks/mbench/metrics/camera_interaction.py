"""Action interaction: does the camera move as instructed (MBench section 4.4.2, eq. 16-17)?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from lookback.artifacts import PoseTrack
from lookback.benchmarks.mbench.metrics.shared import mbench_metric
from lookback.camera.poses import inverse
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_finite, require_poses
from lookback.measures.requested import requested_poses
from lookback.measures.scores import half_cosine
from lookback.scoring import Item, Scored, ScoringClip, Unit

# [v; w] in the camera's own axes (x right, y down, z forward). Turning right is a positive rotation about y. The paper writes its
# example ("left" = +y) for DA3's world-to-camera extrinsics, where the sign is the opposite.
INSTRUCTED_TWISTS: dict[str, tuple[float, float, float, float, float, float]] = {
    "forward": (0, 0, 1, 0, 0, 0),
    "backward": (0, 0, -1, 0, 0, 0),
    "move_left": (-1, 0, 0, 0, 0, 0),
    "move_right": (1, 0, 0, 0, 0, 0),
    "move_up": (0, -1, 0, 0, 0, 0),
    "move_down": (0, 1, 0, 0, 0, 0),
    "left": (0, 0, 0, 0, -1, 0),
    "right": (0, 0, 0, 0, 1, 0),
    "up": (0, 0, 0, 1, 0, 0),
    "down": (0, 0, 0, -1, 0, 0),
}
STILL = 1e-9  # a twist shorter than this is no motion


def frame_twists(c2w: ArrayLike) -> NDArray[np.float64]:
    """xi_i = [v_i; w_i] (N-1,6): translation and axis-angle rotation from frame i to i+1 in the axes of frame i (MBench eq. 16)."""
    poses = require_poses(c2w, at_least=2)
    step = inverse(poses[:-1]) @ poses[1:]
    return np.hstack([step[:, :3, 3], Rotation.from_matrix(step[:, :3, :3]).as_rotvec()])


def twist_cosines(c2w: ArrayLike, instructed_twist: ArrayLike) -> NDArray[np.float64]:
    """cos(xi_i, xi_gt) per transition (MBench eq. 17); NaN where nothing was instructed.

    A camera that stands still although a motion was instructed has no direction: its cosine counts as 0.
    """
    twists = frame_twists(c2w)
    instructed = require_finite(instructed_twist, "instructed_twist")
    if instructed.shape not in {(6,), twists.shape}:
        raise NotScorable(Reason.LENGTH_MISMATCH, f"instructed_twist: must be (6,) or {twists.shape}, not {instructed.shape}")
    instructed = np.broadcast_to(instructed, twists.shape)
    length, wanted = np.linalg.norm(twists, axis=1), np.linalg.norm(instructed, axis=1)
    cosines = np.zeros(len(twists))
    moving = (length > STILL) & (wanted > STILL)
    cosines[moving] = (twists[moving] * instructed[moving]).sum(axis=1) / (length[moving] * wanted[moving])
    cosines[wanted <= STILL] = np.nan
    return np.clip(cosines, -1.0, 1.0)


def camera_interaction_cosine(c2w: ArrayLike, instructed_twist: ArrayLike) -> float:
    """The mean cosine over instructed transitions, in [-1,1]: MBench's raw score."""
    cosines = twist_cosines(c2w, instructed_twist)
    if np.isnan(cosines).all():
        raise NotScorable(Reason.NOT_APPLICABLE, "no transition has an instruction")
    return float(np.nanmean(cosines))


def camera_interaction(c2w: ArrayLike, instructed_twist: ArrayLike) -> float:
    """(1 + mean cos(xi_i, xi_gt)) / 2 (MBench eq. 16-17, mapped to [0,1]).

    `instructed_twist` is [v; w] in the camera's axes, (6,) for the whole path or (N-1,6) per transition.
    """
    return half_cosine(camera_interaction_cosine(c2w, instructed_twist))


@mbench_metric(
    "causal.camera_interaction",
    settings="A",
    title="Action interaction",
    unit="(1 + cosine) / 2",
    needs=("video", "camera"),
    roles=("pose",),
    subsets=("causal",),
    equation="mean_i cos(xi_i, xi_gt), mapped by (1 + cos) / 2",
    source="MBench section 4.4.2, eq. 16-17",
)
def score(context: ScoringClip) -> Scored:
    """Each transition's twist against the instructed one; transitions without an instruction do not count."""
    path = context.artifact(PoseTrack).trusted()
    instructed = frame_twists(requested_poses(context, context.need("n_frames"))[path.frame_index])
    cosines = twist_cosines(path.c2w, instructed)
    raw = camera_interaction_cosine(path.c2w, instructed)
    units = [
        Unit(f"f{int(frame)}", "frame", half_cosine(float(cosine)), float(cosine), int(frame))
        for frame, cosine in zip(path.frame_index[1:], cosines, strict=True)
        if np.isfinite(cosine)
    ]
    return Scored([Item(half_cosine(raw), raw, n_units=len(units))], units)
