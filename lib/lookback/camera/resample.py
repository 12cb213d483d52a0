"""A camera path at other instants: rotations interpolated on the sphere, positions linearly."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from lookback.camera.poses import Poses


def resample_poses(poses: Poses, n_frames: int) -> Poses:
    """The path from its first to its last pose in `n_frames` equal steps."""
    return poses_at(poses, np.linspace(0.0, len(poses) - 1.0, n_frames))


def poses_at(poses: Poses, positions: np.ndarray) -> Poses:
    """Poses at fractional indices within [0, N-1]."""
    if len(poses) == 1:
        return np.repeat(poses, len(positions), axis=0)
    indices = np.arange(len(poses), dtype=float)
    made = np.repeat(np.eye(4)[None], len(positions), axis=0)
    made[:, :3, :3] = Slerp(indices, Rotation.from_matrix(poses[:, :3, :3]))(positions).as_matrix()
    for axis in range(3):
        made[:, axis, 3] = np.interp(positions, indices, poses[:, axis, 3])
    return made
