"""VGGT: `poses.npy` (or .npz `extrinsic`) with world-to-camera matrices, as its `pose_encoding_to_extri_intri` returns them."""

from __future__ import annotations

from pathlib import Path

from lookback.artifacts import PoseTrack
from lookback.backends.pose.formats.common import load_arrays, need, rescaled, square, track
from lookback.camera.poses import inverse, validate_poses
from lookback.media import VideoInfo


def read_vggt(path: Path, info: VideoInfo) -> PoseTrack:
    """extrinsic (N,3,4) or (1,N,3,4) camera-from-world; `intrinsic` at the network's resolution, centred on the principal point."""
    arrays = load_arrays(path)
    w2c = validate_poses(square(need(arrays, ("extrinsic", "extrinsics", "array"), path), path), str(path))
    intrinsic = arrays.get("intrinsic", arrays.get("intrinsics"))
    if intrinsic is None:
        return track(inverse(w2c), path, info)
    matrices = intrinsic.reshape(-1, 3, 3)
    size = (2 * float(matrices[:, 0, 2].mean()), 2 * float(matrices[:, 1, 2].mean()))
    return track(inverse(w2c), path, info, rescaled(matrices, size, info, path))
