"""Readers of the pose files of other estimators. All give camera-to-world poses in OpenCV axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from lookback.artifacts import PoseTrack
from lookback.backends.pose.colmap import read_colmap
from lookback.backends.pose.loading import ANY_LENGTH, load_arrays, load_rows, need, quaternions, rescaled, stated_frames, track
from lookback.backends.pose.ue5 import read_ue5
from lookback.camera.poses import inverse, square, validate_poses
from lookback.errors import ContractError
from lookback.media import VideoInfo

INTRINSICS_FILE = "intrinsics.npy"  # beside poses.npy; MemoBench: fx fy cx cy of every frame, VGGT-Omega: 3x3 matrices
OMEGA_W2C = "extrinsics_opencv_w2c.npy"
VGGT_PATCH = 14  # its loader makes the sides of a picture multiples of this


def read_da3(path: Path, info: VideoInfo) -> PoseTrack:
    """Depth-Anything-3, MBench's `artifacts/.../da3/results.npz`.

    depth (N,h,w); extrinsics (N,3,4) or (N,4,4) world-to-camera; intrinsics (N,3,3) at the processed resolution h x w.
    """
    arrays = load_arrays(path)
    w2c = validate_poses(square(need(arrays, ("extrinsics",), path), path), str(path))
    if "intrinsics" not in arrays:
        return track(inverse(w2c), path, info)
    size = _da3_size(arrays, path)
    intrinsics = rescaled(arrays["intrinsics"], size, info, path)
    note = f"intrinsics rescaled from {size[0]:g}x{size[1]:g} to {info.width}x{info.height}"
    return track(inverse(w2c), path, info, intrinsics, notes=(note,))


def _da3_size(arrays: dict[str, np.ndarray], path: Path) -> tuple[float, float]:
    """(width, height) that the intrinsics refer to: that of depth, confidence or image, else twice the mean principal point."""
    for name in ("depth", "conf"):
        if name in arrays and arrays[name].ndim >= 3:
            height, width = arrays[name].shape[-2:]
            return float(width), float(height)
    if "image" in arrays and arrays["image"].ndim == 4:
        return float(arrays["image"].shape[2]), float(arrays["image"].shape[1])
    principal = arrays["intrinsics"].reshape(-1, 3, 3)[:, :2, 2].mean(axis=0)
    if not (principal > 1).all():
        raise ContractError(
            f"{path}: neither depth nor principal point gives the resolution of the intrinsics; export the depth too"
        )
    return float(2 * principal[0]), float(2 * principal[1])


def read_mapanything(path: Path, info: VideoInfo) -> PoseTrack:
    """MapAnything, `{id}_mapanything.npz` as MemoBench's real clips have it.

    cam_c2w (N,4,4) camera-to-world; intrinsic (N,3,3) or (3,3) at the resolution of its depth or image arrays. Its loader makes the
    picture just large enough to fill one of its sizes, and keeps the middle.
    """
    arrays = load_arrays(path)
    c2w = square(need(arrays, ("cam_c2w", "camera_poses"), path), path)
    intrinsic = arrays.get("intrinsic", arrays.get("intrinsics"))
    if intrinsic is None:
        return track(c2w, path, info)
    size = _mapanything_size(arrays) or _centred_size(intrinsic)
    scale = max(size[0] / info.width, size[1] / info.height) + 1e-8
    whole = (int(info.width * scale), int(info.height * scale))
    return track(c2w, path, info, _uncropped(intrinsic, size, whole, info, path))


def _mapanything_size(arrays: dict[str, np.ndarray]) -> tuple[int, int] | None:
    """(width, height) of the processed images, from the first array that shows it; None when no array does."""
    for name in ("depth", "depth_z", "conf", "mask"):
        if name in arrays and arrays[name].ndim >= 3:
            shape = arrays[name].shape[:-1] if arrays[name].shape[-1] == 1 else arrays[name].shape
            return shape[-1], shape[-2]
    for name in ("image", "images", "img_no_norm"):
        if name in arrays and arrays[name].ndim == 4:
            return arrays[name].shape[2], arrays[name].shape[1]
    return None


def read_vggt(path: Path, info: VideoInfo) -> PoseTrack:
    """VGGT, `poses.npy` or an .npz, with matrices as its `pose_encoding_to_extri_intri` returns them.

    extrinsic (N,3,4) or (1,N,3,4) world-to-camera; `intrinsic` at the network's resolution, centred on the principal point. Where
    `padded` is true, the loader was told to pad the picture instead of cropping it.
    """
    arrays = load_arrays(path)
    w2c = validate_poses(square(need(arrays, ("extrinsic", "extrinsics", "array"), path), path), str(path))
    intrinsic = arrays.get("intrinsic", arrays.get("intrinsics"))
    if intrinsic is None:
        return track(inverse(w2c), path, info)
    size = _centred_size(intrinsic)
    whole = _vggt_whole(size, info, bool(np.any(arrays.get("padded", False))))
    return track(inverse(w2c), path, info, _uncropped(intrinsic, size, whole, info, path))


def _vggt_whole(size: tuple[int, int], info: VideoInfo, padded: bool) -> tuple[int, int]:
    """(width, height) of the picture that the loader cropped or padded to a square. It never crops or pads to another shape."""
    width, height = size
    if width != height:
        return size
    if padded and info.height > info.width:
        return VGGT_PATCH * round(info.width * height / info.height / VGGT_PATCH), height
    return width, VGGT_PATCH * round(info.height * width / info.width / VGGT_PATCH)


def read_vggt_omega(path: Path, info: VideoInfo) -> PoseTrack:
    """VGGT-Omega as WRBench's runner writes it: `poses.npy` (N,4,4) camera-to-world, or `extrinsics_opencv_w2c.npy`.

    `intrinsics.npy` (N,3,3) beside the file is at the network's resolution, centred on the principal point. The loader cuts the
    middle out of a picture that is more than twice as long as wide, or as wide as long, and stretches it to whole patches.
    """
    poses = validate_poses(square(need(load_arrays(path), ("array",), path), path), str(path))
    c2w = inverse(poses) if path.name == OMEGA_W2C else poses
    beside = path.with_name(INTRINSICS_FILE)
    if not beside.is_file():
        return track(c2w, path, info)
    intrinsics = need(load_arrays(beside), ("array",), beside)
    size = _centred_size(intrinsics)
    kept = (min(info.width, 2 * info.height), min(info.height, 2 * info.width))
    whole = (size[0] * info.width / kept[0], size[1] * info.height / kept[1])
    return track(c2w, path, info, _uncropped(intrinsics, size, whole, info, beside))


def _centred_size(intrinsics: np.ndarray) -> tuple[int, int]:
    """(width, height) of a picture that is twice as large as its principal point."""
    middle = intrinsics.reshape(-1, 3, 3)[:, :2, 2].mean(axis=0)
    return round(2 * float(middle[0])), round(2 * float(middle[1]))


def _uncropped(
    intrinsics: np.ndarray, size: tuple[int, int], whole: tuple[float, float], info: VideoInfo, path: Path
) -> np.ndarray:
    """Intrinsics of the middle `size` of a picture of the size `whole`, as (N,3,3) at the video's resolution."""
    corner = ((whole[0] - size[0]) / 2, (whole[1] - size[1]) / 2)
    return rescaled(intrinsics, whole, info, path, corner)


def read_vipe(path: Path, info: VideoInfo) -> PoseTrack:
    """ViPE, `pose/<name>.npz` with `data` (N,4,4) camera-to-world at the frames `inds` (N,); or its COLMAP export.

    fx fy cx cy come from `intrinsics/<name>.npz` beside the folder `pose`, in pixels of the video.
    """
    if path.suffix == ".txt":
        return read_colmap(path, info)
    arrays = load_arrays(path)
    c2w = square(need(arrays, ("data",), path), path)
    index = stated_frames(need(arrays, ("inds",), path), len(c2w), info, path, "inds")
    beside = path.parent.with_name("intrinsics") / path.name
    intrinsics = None
    if beside.is_file():
        intrinsics = rescaled(need(load_arrays(beside), ("data",), beside), (info.width, info.height), info, beside)
    return track(c2w, path, info, intrinsics, index)


def read_c2w(path: Path, info: VideoInfo) -> PoseTrack:
    """Plain arrays: MemoBench's `poses.npy`, WRBench's `.target_c2w.npy`, or any (N,4,4) .npy or .npz.

    (N,4,4) or (N,3,4) camera-to-world in OpenCV axes. Intrinsics (pixels of the video) come from `intrinsics.npy` beside the file.
    """
    c2w = square(need(load_arrays(path), ("array", "c2w", "cam_c2w", "poses"), path), path)
    beside = path.with_name(INTRINSICS_FILE)
    if not beside.is_file():
        return track(c2w, path, info)
    intrinsics = rescaled(need(load_arrays(beside), ("array",), beside), (info.width, info.height), info, beside)
    return track(c2w, path, info, intrinsics)


def read_tum(path: Path, info: VideoInfo) -> PoseTrack:
    """TUM RGB-D text: `timestamp tx ty tz qx qy qz qw` per line, camera-to-world, in order of time.

    The time stamps start at another zero than the video, so poses are assigned to frames as in every format.
    """
    rows = load_rows(path, columns=8)
    if (np.diff(rows[:, 0]) <= 0).any():
        line = int(np.argmax(np.diff(rows[:, 0]) <= 0)) + 2
        raise ContractError(f"{path}, pose {line}: its time stamp is not later than the one before; sort the file by time")
    c2w = np.tile(np.eye(4), (len(rows), 1, 1))
    c2w[:, :3, :3] = quaternions(rows[:, 4:8], path)
    c2w[:, :3, 3] = rows[:, 1:4]
    return track(c2w, path, info)


def read_kitti(path: Path, info: VideoInfo) -> PoseTrack:
    """KITTI odometry text: twelve numbers per line, the 3x4 camera-to-world matrix row by row."""
    return track(square(load_rows(path, columns=12).reshape(-1, 3, 4), path), path, info)


FORMATS: dict[str, Callable[[Path, VideoInfo], PoseTrack]] = {
    "c2w": read_c2w,
    "colmap": read_colmap,
    "da3": read_da3,
    "kitti": read_kitti,
    "mapanything": read_mapanything,
    "tum": read_tum,
    "ue5": read_ue5,
    "vggt": read_vggt,
    "vggt_omega": read_vggt_omega,
    "vipe": read_vipe,
}


def read_poses(path: Path, format: str, info: VideoInfo) -> PoseTrack:
    """Read the camera path from a file of one of `FORMATS`; a ContractError says what is wrong with the file.

    `colmap@48` means: the first pose is that of frame 48, and the others follow frame by frame.
    """
    name, _, start = format.partition("@")
    if name not in FORMATS or not (start.isdecimal() or format == name):
        raise ContractError(f"{path}: pose format '{format}' is not known; use one of {', '.join(FORMATS)}")
    try:
        if not start:
            return FORMATS[name](path, info)
        return _from_frame(FORMATS[name](path, replace(info, n_frames=ANY_LENGTH)), int(start), path, info)
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:  # arrays with a shape or type that no estimator writes
        message = " ".join(str(error).split())[:200]
        raise ContractError(f"{path}: does not hold poses as {format} writes them ({message}); estimate them again") from None


def _from_frame(found: PoseTrack, start: int, path: Path, info: VideoInfo) -> PoseTrack:
    """The same poses, the first of which belongs to frame `start`."""
    index = start + np.arange(len(found.c2w))
    if index[-1] >= info.n_frames:
        raise ContractError(
            f"{path}: has {len(index)} poses, but only {max(0, info.n_frames - start)} frames follow frame {start}, where they "
            f"begin; write the pose of frame {start} first"
        )
    return replace(found, frame_index=index, notes=(f"the first pose is that of frame {start}",))
