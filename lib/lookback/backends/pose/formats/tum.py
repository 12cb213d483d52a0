"""TUM RGB-D text: `timestamp tx ty tz qx qy qz qw`, camera-to-world."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from lookback.artifacts import PoseTrack
from lookback.backends.pose.formats.common import load_rows, track
from lookback.errors import ContractError
from lookback.media import VideoInfo


def read_tum(path: Path, info: VideoInfo) -> PoseTrack:
    """One line per pose, in order of time; rows map to frames as in every format, since the stamps share no zero with the video."""
    rows = load_rows(path, columns=8)
    if (np.diff(rows[:, 0]) <= 0).any():
        line = int(np.argmax(np.diff(rows[:, 0]) <= 0)) + 2
        raise ContractError(f"{path}, pose {line}: its time stamp is not after the one before; sort the file by time")
    c2w = np.tile(np.eye(4), (len(rows), 1, 1))
    c2w[:, :3, :3] = quaternions(rows[:, 4:8], path)
    c2w[:, :3, 3] = rows[:, 1:4]
    return track(c2w, path, info)


def quaternions(xyzw: np.ndarray, path: Path) -> np.ndarray:
    """Unit quaternions (N,4) in x y z w order as rotation matrices."""
    norm = np.linalg.norm(xyzw, axis=1)
    if not np.isfinite(norm).all() or (np.abs(norm - 1) > 0.01).any():
        bad = int(np.argmax(~(np.abs(norm - 1) <= 0.01)))
        raise ContractError(
            f"{path}, pose {bad + 1}: its quaternion has length {norm[bad]:.3g}, not 1; the columns may be in another order"
        )
    return Rotation.from_quat(xyzw).as_matrix()
