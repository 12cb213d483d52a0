"""ViPE: `pose/<name>.npz` with `data` (N,4,4) camera-to-world and `inds` (N,); or its COLMAP export."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lookback.artifacts import PoseTrack
from lookback.backends.pose.formats.colmap import read_colmap
from lookback.backends.pose.formats.common import load_arrays, need, rescaled, square, track
from lookback.errors import ContractError
from lookback.media import VideoInfo


def read_vipe(path: Path, info: VideoInfo) -> PoseTrack:
    """Poses at the frames `inds`; fx fy cx cy from `intrinsics/<name>.npz` beside the folder `pose`, in pixels of the video."""
    if path.suffix == ".txt":
        return read_colmap(path, info)
    arrays = load_arrays(path)
    c2w = square(need(arrays, ("data",), path), path)
    index = np.asarray(need(arrays, ("inds",), path)).astype(np.int64)
    if len(index) != len(c2w) or (np.diff(index) <= 0).any() or index.min() < 0 or index.max() >= info.n_frames:
        raise ContractError(
            f"{path}: `inds` must be {len(c2w)} rising frame numbers below {info.n_frames}; it belongs to another video"
        )
    beside = path.parent.with_name("intrinsics") / path.name
    intrinsics = None
    if beside.is_file():
        intrinsics = rescaled(need(load_arrays(beside), ("data",), beside), (info.width, info.height), info, beside)
    return track(c2w, path, info, intrinsics, index)
