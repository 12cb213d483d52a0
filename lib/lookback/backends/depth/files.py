"""Depth that is already on disk: in a Depth-Anything-3 result, as an array, or as a folder of maps.

Metres along the camera's axis, or the reconstruction's own unit for Depth-Anything-3. A ground truth's depth belongs to the ground
truth's video alone and is never taken for a generated one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import cv2
import numpy as np

from lookback.array_files import array_names
from lookback.artifacts import Artifact, Depth
from lookback.backends.base import BackendOptions
from lookback.backends.pose.formats.common import frame_rows, load_arrays
from lookback.backends.runtime import settings
from lookback.clips import Clip
from lookback.errors import ContractError, MediaError, NotScorable, Reason
from lookback.media import VideoInfo
from lookback.media.frames import image_size
from lookback.paths import resolve
from lookback.registry import Availability, backend

OPTIONS: dict[str, Any] = {"max_side": 320}
MILLIMETRES = 1000.0  # 16-bit PNG maps, as MemoBench's ground truth has them
MAPS = (".png", ".npy")


@backend(role="depth", name="files", title="Depth from Depth-Anything-3 results, arrays or map folders", embedded=True)
class DepthFiles:
    """Looks at the clip's `extras.depth`, at its Depth-Anything-3 poses and, if it is the ground truth itself, at `gt_depth`."""

    requires: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: BackendOptions):
        self.set = settings(options, OPTIONS)

    @staticmethod
    def available() -> Availability:
        return Availability(True)

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _DepthReading:
        return _DepthReading(clip, info, self.set["max_side"])


class _DepthReading:
    """The job of one clip; it needs no frame."""

    wants = np.empty(0, np.int64)

    def __init__(self, clip: Clip, info: VideoInfo, max_side: int):
        self.clip, self.info, self.max_side = clip, info, max_side

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        """Nothing to see: the depth is in a file."""

    def finish(self) -> Depth:
        path = depth_source(self.clip)
        if path is None:
            raise NotScorable(Reason.NO_DEPTH, "the dataset carries no depth for this clip")
        try:
            depth = read_depth(path, self.max_side)
            frame_index, notes = frame_rows(len(depth), self.info, path)
        except ContractError as error:
            raise NotScorable(Reason.INVALID_INPUT, str(error)) from None
        maps = depth.astype(np.float16)
        return Depth(frame_index=frame_index, depth=maps, metric=True, kind="z-depth", notes=notes, facts={"source": path.name})


def depth_source(clip: Clip) -> Path | None:
    """The file or folder with this clip's own depth."""
    if given := clip.extras.get("depth"):
        return resolve(str(given))
    if clip.poses is not None and clip.poses_format == "da3":
        path = resolve(clip.poses)
        return path if "depth" in array_names(path) else None
    if clip.gt_depth is not None and clip.video == clip.ground_truth:
        return resolve(clip.gt_depth)
    return None


def read_depth(path: Path, max_side: int) -> np.ndarray:
    """(N,h,w) float32; larger maps are thinned to `max_side` by the nearest pixel, so that no depth is averaged over an edge."""
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in MAPS)
        if not files:
            raise ContractError(f"{path}: holds no depth map (.png or .npy)")
        return np.stack([_thin(_read_map(file), max_side) for file in files])
    arrays = load_arrays(path)
    depth = arrays.get("depth", arrays.get("array"))
    if depth is None or depth.ndim not in (3, 4):
        raise ContractError(f"{path}: has no depth of shape (N,h,w)")
    return np.stack([_thin(each, max_side) for each in depth.reshape(-1, *depth.shape[-2:])])


def _read_map(path: Path) -> np.ndarray:
    if path.suffix.lower() == ".npy":
        return load_arrays(path)["array"]
    try:
        image_size(path)  # before anything is allocated for what a header declares
    except MediaError as error:
        raise ContractError(str(error)) from None
    image = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    if image is None or image.dtype != np.uint16 or image.ndim != 2:
        raise ContractError(f"{path}: is not a 16-bit depth map in millimetres")
    return image.astype(np.float32) / MILLIMETRES


def _thin(depth: np.ndarray, max_side: int) -> np.ndarray:
    depth = np.squeeze(depth).astype(np.float32)
    if depth.ndim != 2:
        raise ContractError(f"a depth map must have two axes, not {depth.shape}")
    scale = min(1.0, max_side / max(depth.shape))
    size = (max(1, round(depth.shape[1] * scale)), max(1, round(depth.shape[0] * scale)))
    return depth if scale == 1.0 else cv2.resize(depth, size, interpolation=cv2.INTER_NEAREST_EXACT)
