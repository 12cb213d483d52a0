"""What the pose readers share: loading arrays safely, assigning poses to video frames, and default intrinsics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from lookback.array_files import SMALL_FILE, array_names, read_arrays
from lookback.artifacts import PoseTrack
from lookback.artifacts.poses import MAPPED
from lookback.camera.poses import validate_poses
from lookback.errors import ContractError
from lookback.media import VideoInfo

UNKNOWN_FOV_DEG = 60.0  # assumed horizontal field of view where a file carries no intrinsics
ANY_LENGTH = 0  # frames of a video that is not compared with the file


# Other arrays, such as depth and images, are only asked for their shape
POSE_ARRAYS = (
    *("array", "c2w", "cam_c2w", "camera_poses", "data", "extrinsic", "extrinsics", "inds", "poses"),
    *("intrinsic", "intrinsics", "padded", "frame_index"),
)


def load_arrays(path: Path, most: int = SMALL_FILE, only: tuple[str, ...] = POSE_ARRAYS) -> dict[str, np.ndarray]:
    """The arrays of an .npz, or of an .npy under the name "array". Nothing is unpickled; of pictures, only the shape is read."""
    if not path.is_file():
        raise ContractError(f"{path}: there is no such pose file; check the path in the dataset")
    return read_arrays(path, most, only)


def load_rows(path: Path, columns: int) -> np.ndarray:
    """The rows of numbers in a text file, as float64. Errors name the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise ContractError(f"{path}: there is no such pose file; check the path in the dataset") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ContractError(f"{path}: cannot be read as text ({error})") from None
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            rows.append([float(value) for value in line.replace(",", " ").split()])
        except ValueError:
            raise ContractError(f"{path}, line {number}: expected numbers only, found '{line.strip()[:60]}'") from None
        if len(rows[-1]) != columns:
            raise ContractError(f"{path}, line {number}: expected {columns} numbers, found {len(rows[-1])}")
    if not rows:
        raise ContractError(f"{path}: holds no pose; estimate the poses again")
    return np.array(rows)


def need(arrays: dict[str, np.ndarray], names: tuple[str, ...], path: Path) -> np.ndarray:
    """The first array of `names` that the file has."""
    for name in names:
        if name in arrays:
            return arrays[name]
    raise ContractError(f"{path}: has no array '{names[0]}' (it has {', '.join(sorted(arrays)) or 'none'}); it is another format")


def rescaled(
    matrices: np.ndarray, size: tuple[float, float], info: VideoInfo, path: Path, corner: tuple[float, float] = (0.0, 0.0)
) -> np.ndarray:
    """Intrinsics (N,3,3), (3,3) or fx fy cx cy (N,4) at (width, height) `size`, as (N,3,3) at the video's resolution.

    `size` is that of the whole picture. Intrinsics of a part of it begin at the pixel `corner` (x, y).
    """
    matrices = np.asarray(matrices, np.float64)
    if matrices.ndim == 2 and matrices.shape[1] == 4:
        full = np.zeros((len(matrices), 3, 3))
        full[:, 0, 0], full[:, 1, 1], full[:, 0, 2], full[:, 1, 2], full[:, 2, 2] = *matrices.T, np.ones(len(matrices))
        matrices = full
    if matrices.ndim == 4 and matrices.shape[0] == 1:
        matrices = matrices[0]
    if matrices.shape == (3, 3):
        matrices = matrices[None]
    if (
        matrices.ndim != 3
        or matrices.shape[1:] != (3, 3)
        or not np.isfinite(matrices).all()
        or (matrices[:, [0, 1], [0, 1]] <= 0).any()
        or not np.allclose(matrices[:, 2], [0.0, 0.0, 1.0])
    ):
        raise ContractError(
            f"{path}: intrinsics must be finite (N,3,3) with positive focal lengths and a last row 0 0 1, not {matrices.shape}"
        )
    if not (np.isfinite(size).all() and min(size) > 0):
        raise ContractError(f"{path}: its intrinsics belong to a picture of {size[0]:g}x{size[1]:g}; give its size in pixels")
    scale = np.diag([info.width / size[0], info.height / size[1], 1.0])
    scale[:2, 2] = np.diag(scale)[:2] * corner
    return scale @ matrices


def quaternions(xyzw: np.ndarray, path: Path) -> np.ndarray:
    """Rotation matrices (N,3,3) of unit quaternions (N,4) in the order x y z w."""
    norm = np.linalg.norm(xyzw, axis=1)
    if not np.isfinite(norm).all() or (np.abs(norm - 1) > 0.01).any():
        bad = int(np.argmax(~(np.abs(norm - 1) <= 0.01)))
        raise ContractError(
            f"{path}, pose {bad + 1}: its quaternion has length {norm[bad]:.3g}, not 1; the columns may be in another order"
        )
    return Rotation.from_quat(xyzw).as_matrix()


def assumed_intrinsics(info: VideoInfo) -> np.ndarray:
    """A centred camera with the assumed field of view, for files without intrinsics."""
    focal = info.width / 2.0 / np.tan(np.radians(UNKNOWN_FOV_DEG) / 2.0)
    return np.array([[[focal, 0.0, info.width / 2.0], [0.0, focal, info.height / 2.0], [0.0, 0.0, 1.0]]])


def frame_rows(n: int, info: VideoInfo, path: Path, what: str = "poses") -> tuple[np.ndarray, tuple[str, ...]]:
    """The video frame of each row: as the file's `frame_index` says, one to one, or every k-th frame where that gives as many rows.

    n rows are those of every k-th frame when n = ceil(frames / k); where several k give n, the largest is meant. Any other number
    is refused: a file that was cut short would be stretched over the whole video.
    """
    frames = info.n_frames
    if "frame_index" in array_names(path):
        index = stated_frames(load_arrays(path, only=("frame_index",))["frame_index"], n, info, path, "frame_index")
        return index, mapped(index, info, what)
    if n == frames or frames == ANY_LENGTH:
        return np.arange(n), ()
    if n > frames:
        raise ContractError(f"{path}: has {n} {what} and the video only {frames} frames; they belong to different videos")
    step = (frames - 1) // (n - 1) if n > 1 else 0
    if not step or -(-frames // step) != n:
        raise ContractError(
            f"{path}: has {n} {what} for {frames} frames, which are not those of every k-th frame; export all of them, or say in "
            "'frame_index' which frame each belongs to"
        )
    index = step * np.arange(n)
    return index, mapped(index, info, what)


def stated_frames(values: np.ndarray, n: int, info: VideoInfo, path: Path, name: str) -> np.ndarray:
    """The frames of n rows as the file says them."""
    index = values.astype(np.int64)
    if index.shape != (n,) or (np.diff(index) <= 0).any() or index.min() < 0 or index.max() >= info.n_frames:
        raise ContractError(f"{path}: `{name}` must be {n} rising frame numbers below {info.n_frames}; it belongs to another video")
    return index


def mapped(index: np.ndarray, info: VideoInfo, what: str = "poses") -> tuple[str, ...]:
    """The note on rows that are fewer than the frames."""
    if len(index) >= info.n_frames:
        return ()
    first = ", ".join(map(str, index[:3]))
    return (f"{len(index)} {what} for {info.n_frames} frames: {MAPPED} {first} ... {index[-1]}",)


def track(
    c2w: np.ndarray,
    path: Path,
    info: VideoInfo,
    intrinsics: np.ndarray | None = None,
    frame_index: np.ndarray | None = None,
    confidence: np.ndarray | None = None,
    notes: tuple[str, ...] = (),
) -> PoseTrack:
    """The checked camera path. Pose files contain positions, so every row has a translation."""
    poses = validate_poses(c2w, str(path))
    if frame_index is None:
        frame_index, few = frame_rows(len(poses), info, path)
    else:
        few = mapped(frame_index, info)
    matrices = assumed_intrinsics(info) if intrinsics is None else intrinsics
    if len(matrices) not in (1, len(poses)):
        raise ContractError(f"{path}: has {len(poses)} poses and {len(matrices)} intrinsic matrices; they must be equally many")
    source = f"assumed: {UNKNOWN_FOV_DEG:g} deg horizontally, the file carries no intrinsics" if intrinsics is None else "file"
    return PoseTrack(
        c2w=poses,
        intrinsics=np.broadcast_to(matrices, (len(poses), 3, 3)).copy(),
        confidence=np.ones(len(poses), np.float32) if confidence is None else confidence,
        has_translation=np.ones(len(poses), bool),
        frame_index=frame_index,
        focal_source=source,
        notes=(*notes, *few),
    )
