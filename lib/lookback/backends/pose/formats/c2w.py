"""Plain camera-to-world arrays: MemoBench's `poses.npy`, WRBench's `.target_c2w.npy`, any (N,4,4) .npy or .npz."""

from __future__ import annotations

from pathlib import Path

from lookback.artifacts import PoseTrack
from lookback.backends.pose.formats.common import load_arrays, need, rescaled, square, track
from lookback.media import VideoInfo

INTRINSICS_FILE = "intrinsics.npy"  # MemoBench: fx fy cx cy of every frame, beside poses.npy


def read_c2w(path: Path, info: VideoInfo) -> PoseTrack:
    """(N,4,4) or (N,3,4) camera-to-world in OpenCV axes; intrinsics from `intrinsics.npy` beside it (pixels of the video)."""
    c2w = square(need(load_arrays(path), ("array", "c2w", "cam_c2w", "poses"), path), path)
    beside = path.with_name(INTRINSICS_FILE)
    if not beside.is_file():
        return track(c2w, path, info)
    intrinsics = rescaled(need(load_arrays(beside), ("array",), beside), (info.width, info.height), info, beside)
    return track(c2w, path, info, intrinsics)
