"""What the rules look at: one clip's request, camera path, masks and shots, as plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lookback.camera.poses import rotation_angle_deg, yaw_deg
from lookback.clips import Clip
from lookback.errors import LookbackError
from lookback.metrics.shared.requested import compile_request
from lookback.store import Entry

Load = Callable[[str], Entry | None]


@dataclass(frozen=True)
class Path:
    """A camera path, reduced to what turns."""

    frames: np.ndarray
    yaw: np.ndarray  # degrees, relative to the first frame
    away: np.ndarray  # degrees from the first orientation

    @classmethod
    def of(cls, c2w: np.ndarray, frames: np.ndarray) -> Path:
        return cls(frames, yaw_deg(c2w), rotation_angle_deg(c2w[0], c2w))

    @property
    def farthest(self) -> float:
        return float(self.away.max())


@dataclass(frozen=True)
class Evidence:
    """One clip's evidence; what was not extracted is None."""

    clip: Clip
    path: Path | None
    requested: Path | None  # what the camera was asked for, or what the ground truth's camera did
    frames: np.ndarray | None  # of the mask rows
    state: np.ndarray | None  # 0 out, 1 in view, 2 leaving, 3 returned
    cuts: int


def gather(clip: Clip, load: Load, cuts: int) -> Evidence:
    """The evidence of one clip from its artifacts."""
    pose, masks = load("pose"), load("masks")
    path = None if pose is None else Path.of(pose.arrays["c2w"], pose.arrays["frame_index"])
    state = None if masks is None else masks.arrays["state"].astype(int)
    frames = None if masks is None else masks.arrays["frame_index"]
    return Evidence(clip, path, _requested(clip, load), frames, state, cuts)


def _requested(clip: Clip, load: Load) -> Path | None:
    truth = load("gt_pose")
    if truth is not None:
        return Path.of(truth.arrays["c2w"], truth.arrays["frame_index"])
    if not clip.camera or not clip.n_frames:
        return None
    try:
        poses = compile_request(clip.camera, clip.n_frames)
    except LookbackError:
        return None
    return Path.of(poses, np.arange(len(poses)))
