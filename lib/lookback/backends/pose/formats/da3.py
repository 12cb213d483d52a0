"""Depth-Anything-3: `results.npz` with `extrinsics` (world-to-camera) and `intrinsics` at the processed resolution."""

from __future__ import annotations

from pathlib import Path

from lookback.artifacts import PoseTrack
from lookback.backends.pose.formats.common import load_arrays, need, rescaled, square, track
from lookback.camera.poses import inverse, validate_poses
from lookback.errors import ContractError
from lookback.media import VideoInfo


def read_da3(path: Path, info: VideoInfo) -> PoseTrack:
    """MBench's `artifacts/.../da3/results.npz`: depth (N,h,w), extrinsics (N,3,4) or (N,4,4) w2c, intrinsics (N,3,3) at h x w."""
    arrays = load_arrays(path)
    w2c = validate_poses(square(need(arrays, ("extrinsics",), path), path), str(path))
    if "intrinsics" not in arrays:
        return track(inverse(w2c), path, info)
    size = _processed_size(arrays, path)
    intrinsics = rescaled(arrays["intrinsics"], size, info, path)
    note = f"intrinsics rescaled from {size[0]:g}x{size[1]:g} to {info.width}x{info.height}"
    return track(inverse(w2c), path, info, intrinsics, notes=(note,))


def _processed_size(arrays: dict, path: Path) -> tuple[float, float]:
    """(width, height) that the intrinsics refer to: the depth's, confidence's or image's, else twice the mean principal point."""
    for name in ("depth", "conf"):
        if name in arrays and arrays[name].ndim >= 3:
            height, width = arrays[name].shape[-2:]
            return float(width), float(height)
    if "image" in arrays and arrays["image"].ndim == 4:
        return float(arrays["image"].shape[2]), float(arrays["image"].shape[1])
    principal = arrays["intrinsics"].reshape(-1, 3, 3)[:, :2, 2].mean(axis=0)
    if not (principal > 1).all():
        raise ContractError(
            f"{path}: neither depth nor principal point tells the resolution of its intrinsics; export the depth too"
        )
    return float(2 * principal[0]), float(2 * principal[1])
