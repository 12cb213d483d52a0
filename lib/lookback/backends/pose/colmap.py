"""COLMAP's `images.txt` (`IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME`, world-to-camera) with `cameras.txt`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from lookback.artifacts import PoseTrack
from lookback.backends.pose.loading import quaternions, rescaled, track
from lookback.camera.poses import inverse
from lookback.errors import ContractError
from lookback.media import VideoInfo

ONE_FOCAL = ("SIMPLE_PINHOLE", "SIMPLE_RADIAL", "RADIAL", "SIMPLE_RADIAL_FISHEYE", "RADIAL_FISHEYE")
TWO_FOCALS = ("PINHOLE", "OPENCV", "FULL_OPENCV", "OPENCV_FISHEYE", "FOV", "THIN_PRISM_FISHEYE")


def read_colmap(path: Path, info: VideoInfo) -> PoseTrack:
    """The pose lines of images.txt, ordered by image name. The lines of 2-D points between them are skipped."""
    images = sorted(_images(path), key=lambda image: _natural(image[2]))
    w2c = np.tile(np.eye(4), (len(images), 1, 1))
    w2c[:, :3, :3] = quaternions(np.array([image[0][[1, 2, 3, 0]] for image in images]), path)
    w2c[:, :3, 3] = [image[0][4:7] for image in images]
    index, notes = _frames([image[2] for image in images], info)
    cameras = path.with_name("cameras.txt")
    intrinsics = None
    if cameras.is_file():
        known = _cameras(cameras, info)
        missing = sorted({image[1] for image in images} - set(known))
        if missing:
            raise ContractError(f"{path}: names camera {missing[0]}, which {cameras.name} does not have")
        intrinsics = np.concatenate([known[image[1]] for image in images])
    return track(inverse(w2c), path, info, intrinsics, index, notes=notes)


def _images(path: Path) -> list[tuple[np.ndarray, int, str]]:
    """(quaternion and translation, camera id, name) of every image. A line of points (X Y POINT3D_ID ...) follows each."""
    try:
        lines = [line for line in path.read_text(encoding="utf-8").split("\n") if not line.startswith("#")]
    except FileNotFoundError:
        raise ContractError(f"{path}: there is no such pose file; check the path in the dataset") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ContractError(f"{path}: cannot be read as text ({error})") from None
    images = []
    for line in lines:
        parts = line.split(maxsplit=9)
        if len(parts) != 10 or _are_points(parts[9]):
            continue
        try:
            images.append((np.array([float(value) for value in parts[1:8]]), int(parts[8]), parts[9].strip()))
        except ValueError:
            raise ContractError(
                f"{path}: the line '{line[:60]}' is not an image line of COLMAP's images.txt (id, quaternion, t, camera, name)"
            ) from None
    if not images:
        raise ContractError(f"{path}: holds no image line (id, qw qx qy qz, tx ty tz, camera, name); it is another format")
    return images


def _are_points(rest: str) -> bool:
    """Whether a line that goes on so after nine words holds points: numbers in threes, while a name of digits is one word."""
    try:
        return len([float(word) for word in rest.split()]) > 1
    except ValueError:
        return False


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key that puts frame_10 after frame_9. It compares lengths first, because a number may be too long for an integer."""
    parts = re.split(r"([0-9]+)", name)
    return [(len(part.lstrip("0")), part.lstrip("0")) if place % 2 else (-1, part) for place, part in enumerate(parts)]


def _frames(names: list[str], info: VideoInfo) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """The frame of each image: the number in its name where all names are frame numbers, else None, as in every format."""
    numbers = [re.findall(r"[0-9]{1,18}", Path(name).stem) for name in names]
    if len(names) < info.n_frames and all(numbers):
        index = np.array([int(found[-1]) for found in numbers])
        for first in (0, 1):
            if index.min() >= first and index.max() < info.n_frames + first and (np.diff(index) > 0).all():
                return index - first, (f"frames taken from the image names, counted from {first}",)
    return None, ()


def _cameras(path: Path, info: VideoInfo) -> dict[int, np.ndarray]:
    """Intrinsics by camera id, from lines `CAMERA_ID MODEL WIDTH HEIGHT PARAMS[]`. Distortion is ignored."""
    cameras = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ContractError(f"{path}: cannot be read as text ({error})") from None
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split()
        try:
            identifier, model, width, height = int(parts[0]), parts[1], float(parts[2]), float(parts[3])
            values = [float(value) for value in parts[4:]]
            if model in ONE_FOCAL:
                fx, fy, cx, cy = values[0], values[0], values[1], values[2]
            elif model in TWO_FOCALS:
                fx, fy, cx, cy = values[:4]
            else:
                raise ContractError(f"{path}: camera model {model} is not known; export as PINHOLE")
        except (ValueError, IndexError):
            raise ContractError(f"{path}: the line '{line[:60]}' is not a camera line of COLMAP's cameras.txt") from None
        matrix = np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])
        cameras[identifier] = rescaled(matrix, (width, height), info, path)
    return cameras
