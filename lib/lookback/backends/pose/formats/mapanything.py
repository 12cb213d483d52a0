"""MapAnything: `{id}_mapanything.npz` with `cam_c2w` and `intrinsic`, as MemoBench's real clips carry them."""

from __future__ import annotations

from pathlib import Path

from lookback.artifacts import PoseTrack
from lookback.backends.pose.formats.common import load_arrays, need, rescaled, square, track
from lookback.media import VideoInfo


def read_mapanything(path: Path, info: VideoInfo) -> PoseTrack:
    """cam_c2w (N,4,4) camera-to-world; intrinsic (N,3,3) or (3,3) at the resolution of its depth or image arrays."""
    arrays = load_arrays(path)
    c2w = square(need(arrays, ("cam_c2w", "camera_poses"), path), path)
    intrinsic = arrays.get("intrinsic", arrays.get("intrinsics"))
    if intrinsic is None:
        return track(c2w, path, info)
    size = _size(arrays) or (
        2 * float(intrinsic.reshape(-1, 3, 3)[:, 0, 2].mean()),
        2 * float(intrinsic.reshape(-1, 3, 3)[:, 1, 2].mean()),
    )
    return track(c2w, path, info, rescaled(intrinsic, size, info, path))


def _size(arrays: dict) -> tuple[float, float] | None:
    """(width, height) of the processed images, from the first array that has one."""
    for name in ("depth", "depth_z", "conf", "mask"):
        if name in arrays and arrays[name].ndim >= 3:
            shape = arrays[name].shape[:-1] if arrays[name].shape[-1] == 1 else arrays[name].shape
            return float(shape[-1]), float(shape[-2])
    for name in ("image", "images", "img_no_norm"):
        if name in arrays and arrays[name].ndim == 4:
            return float(arrays[name].shape[2]), float(arrays[name].shape[1])
    return None
