"""The role `depth`: depth maps of frames.

- `depth-anything-v2`: Depth-Anything-V2 (`transformers`), MemoBench's choice. It gives relative inverse depth: near is large, scale
  and shift are unknown.
- `files`: depth that is already on disk, in a Depth-Anything-3 result, as an array, or as a folder of maps. It is in metres along
  the camera's axis, or in the unit of the reconstruction for Depth-Anything-3. The depth of a ground truth is used for the video
  of the ground truth only, never for a generated video.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import cv2
import numpy as np

from lookback.array_files import BYTES_PER_PIXEL, SMALL_FILE, array_names
from lookback.artifacts import Artifact, Depth
from lookback.backends.pose.loading import frame_rows, load_arrays
from lookback.backends.pretrained import load_pretrained
from lookback.backends.runtime import SAMPLING, ConfiguredBackend, FrameBatches, Options, TorchBackend, loaded_once, sampled_frames
from lookback.clips import Clip
from lookback.errors import ContractError, MediaError, NotScorable, Reason
from lookback.media import VideoInfo, open_video
from lookback.media.frames import image_size, natural_key
from lookback.paths import resolve
from lookback.registry import backend

if TYPE_CHECKING:
    import torch

WEIGHTS = "depth-anything-v2-small"
MILLIMETRES = 1000.0  # 16-bit PNG maps, as MemoBench's ground truth has them
MAPS = (".png", ".npy")
LARGEST_MAP = 1 << 20  # pixels of a map of a video that is smaller; Depth-Anything-3 enlarges it


@backend(
    role="depth",
    name="depth-anything-v2",
    title="Depth-Anything-V2 Small (relative inverse depth)",
    embedded=False,
    weights=(WEIGHTS,),
)
class DepthAnythingV2(TorchBackend):
    """Prepares frames as the checkpoint's configuration prescribes. The longer side of a stored map is at most `max_side`."""

    defaults: ClassVar[Options] = {**SAMPLING, "path": "", "precision": "fp32", "max_side": 320}
    weights = (WEIGHTS,)

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _NetworkJob:
        wants, sampling = sampled_frames(clip, info, self.settings)
        return _NetworkJob(self, wants, sampling)

    def predict(self, frames: torch.Tensor) -> torch.Tensor:
        """Inverse depth (n,h,w) at the network's resolution, of frames uint8 (n,H,W,3) on the device."""
        import torch

        model, processor = _model(self.path, self.device)
        images = list(frames.permute(0, 3, 1, 2))
        pixels = processor(images=images, return_tensors="pt", device=self.device)["pixel_values"]
        with torch.inference_mode(), self.autocast():
            return model(pixel_values=pixels.to(self.device)).predicted_depth.float()

    def maps(self, frames: np.ndarray, *, clip: Clip | None = None, indices: np.ndarray | None = None) -> np.ndarray:
        """Inverse depth (n,h,w) float32 at the network's resolution, of frames uint8 (n,H,W,3). It looks at the frames alone."""
        batches = FrameBatches(self.device, self.options.batch_size, len(frames), lambda batch: (self.predict(batch),))
        batches.push(np.arange(len(frames)), frames)
        (depth,) = batches.finish()[1]
        return depth


class _NetworkJob:
    """Predicts the maps of the sampled frames of one clip."""

    def __init__(self, backend: DepthAnythingV2, wants: np.ndarray, sampling: str):
        self.backend, self.wants, self.sampling = backend, wants, sampling
        self.batches = FrameBatches(backend.device, backend.options.batch_size, len(wants), self._compute)

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        self.batches.push(indices, frames)

    def finish(self) -> Depth:
        indices, (depth,) = self.batches.finish()
        facts = {"sampling": self.sampling, "precision": self.backend.settings["precision"]}
        return Depth(frame_index=indices, depth=depth, metric=False, kind="relative inverse depth", facts=facts)

    def _compute(self, frames: torch.Tensor) -> tuple[torch.Tensor, ...]:
        from torch.nn.functional import interpolate

        depth = self.backend.predict(frames)
        scale = min(1.0, self.backend.settings["max_side"] / max(depth.shape[1:]))
        size = [max(1, round(side * scale)) for side in depth.shape[1:]]
        return (interpolate(depth[:, None], size=size, mode="bilinear", align_corners=False, antialias=True)[:, 0],)


@loaded_once(1)
def _model(path: Path, device: str) -> tuple[Any, Any]:
    from transformers import AutoImageProcessor, AutoModelForDepthEstimation

    model, processor = load_pretrained(
        path, "Depth Anything V2", AutoModelForDepthEstimation, AutoImageProcessor, types=("depth_anything",)
    )
    return model.to(device), processor


@backend(role="depth", name="files", title="Depth from Depth-Anything-3 results, arrays or map folders", embedded=True)
class DepthFiles(ConfiguredBackend):
    """Reads the clip's `files.depth`, or the file of its Depth-Anything-3 poses, or `gt_depth` if the clip is the ground truth."""

    defaults: ClassVar[Options] = {"max_side": 320}

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _FileJob:
        return _FileJob(clip, info, self.settings["max_side"])

    def maps(self, frames: np.ndarray, *, clip: Clip, indices: np.ndarray) -> np.ndarray:
        """The stored maps (n,h,w) float32 of the clip's frames `indices`, or the nearest ones. Depth without an end becomes 0."""
        with open_video(resolve(clip.video)) as reader:
            found = self.start(clip, reader.info, {}).finish()
        rows = [found.row_near(int(frame)) for frame in indices]
        return np.nan_to_num(found.depth[rows].astype(np.float32), posinf=0.0)


class _FileJob:
    """Reads the depth of one clip from its file; it needs no frame."""

    wants = np.empty(0, np.int64)

    def __init__(self, clip: Clip, info: VideoInfo, max_side: int):
        self.clip, self.info, self.max_side = clip, info, max_side

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        """Does nothing: the depth is in a file."""

    def finish(self) -> Depth:
        path = depth_source(self.clip)
        if path is None:
            raise NotScorable(Reason.NO_DEPTH, "the dataset carries no depth for this clip")
        try:
            return given_depth(path, self.max_side, self.info)
        except ContractError as error:
            raise NotScorable(Reason.INVALID_INPUT, str(error)) from None


def depth_source(clip: Clip) -> Path | None:
    """The file or folder with the depth of this clip; None when there is none."""
    if given := clip.files.get("depth"):
        return resolve(given)
    if clip.poses is not None and clip.poses_format == "da3":
        path = resolve(clip.poses)
        return path if "depth" in array_names(path) else None
    if clip.gt_depth is not None and clip.video == clip.ground_truth:
        return resolve(clip.gt_depth)
    return None


def given_depth(path: Path, max_side: int, info: VideoInfo) -> Depth:
    """The depth of a file, with the frame of each map."""
    depth = read_depth(path, max_side, info)
    frame_index, notes = frame_rows(len(depth), info, path, "maps")
    maps = depth.astype(np.float16)
    return Depth(frame_index=frame_index, depth=maps, metric=True, kind="z-depth", notes=notes, facts={"source": path.name})


def read_depth(path: Path, max_side: int, info: VideoInfo) -> np.ndarray:
    """(N,h,w) float32. Maps larger than `max_side` are reduced by nearest pixel, so that no depth is averaged across an edge."""
    if path.is_dir():
        files = sorted((file for file in path.iterdir() if file.suffix.lower() in MAPS), key=natural_key)
        if not files:
            raise ContractError(f"{path}: holds no depth map (.png or .npy)")
        return np.stack([_reduced(_read_map(file), max_side) for file in files])
    most = SMALL_FILE + BYTES_PER_PIXEL * info.n_frames * max(info.width * info.height, LARGEST_MAP)
    arrays = load_arrays(path, most, only=("depth", "array"))
    depth = arrays.get("depth", arrays.get("array"))
    if depth is None or depth.ndim not in (3, 4):
        raise ContractError(f"{path}: has no depth of shape (N,h,w)")
    if depth.ndim == 4 and depth.shape[-1] == 1:  # as MapAnything and VGGT give it
        depth = depth[..., 0]
    return np.stack([_reduced(each, max_side) for each in depth.reshape(-1, *depth.shape[-2:])])


def _read_map(path: Path) -> np.ndarray:
    if path.suffix.lower() == ".npy":
        return load_arrays(path)["array"]
    try:
        image_size(path)  # checks the size in the header before memory is allocated for it
    except MediaError as error:
        raise ContractError(str(error)) from None
    image = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    if image is None or image.dtype != np.uint16 or image.ndim != 2:
        raise ContractError(f"{path}: is not a 16-bit depth map in millimetres")
    return image.astype(np.float32) / MILLIMETRES


def _reduced(depth: np.ndarray, max_side: int) -> np.ndarray:
    depth = np.squeeze(depth).astype(np.float32)
    if depth.ndim != 2:
        raise ContractError(f"a depth map must have two axes, not {depth.shape}")
    scale = min(1.0, max_side / max(depth.shape))
    size = (max(1, round(depth.shape[1] * scale)), max(1, round(depth.shape[0] * scale)))
    return depth if scale == 1.0 else cv2.resize(depth, size, interpolation=cv2.INTER_NEAREST_EXACT)
