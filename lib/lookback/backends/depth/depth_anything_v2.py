"""MemoBench's depth: Depth-Anything-V2 (`transformers`): relative inverse depth, near is large, scale and shift are unknown."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lookback.artifacts import Artifact, Depth
from lookback.backends.base import BackendOptions
from lookback.backends.runtime import SAMPLING, FrameBatches, autocast, checkpoint, sampled_frames, settings, torch_device, usable
from lookback.clips import Clip
from lookback.errors import BackendUnavailable
from lookback.media import VideoInfo
from lookback.registry import Availability, backend

if TYPE_CHECKING:
    import torch

OPTIONS: dict[str, Any] = {**SAMPLING, "path": "", "precision": "fp32", "max_side": 320}
WEIGHTS = "depth-anything-v2-small"


@backend(
    role="depth",
    name="depth-anything-v2",
    title="Depth-Anything-V2 Small (relative inverse depth)",
    embedded=False,
    weights=(WEIGHTS,),
)
class DepthAnythingV2:
    """Preprocesses as the checkpoint's own configuration says; the maps are stored at most `max_side` long."""

    requires: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: BackendOptions):
        self.options = options
        self.set = settings(options, OPTIONS)
        self.device = torch_device(options)
        self.path = checkpoint(options, WEIGHTS, self.set["path"])

    @staticmethod
    def available() -> Availability:
        return usable(WEIGHTS, modules=("torch", "transformers"))

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _DepthJob:
        wants, sampling = sampled_frames(clip, info, self.set)
        return _DepthJob(self, wants, sampling)

    def predict(self, frames: torch.Tensor) -> torch.Tensor:
        """Inverse depth (n,h,w) at the network's resolution, of frames uint8 (n,H,W,3) on the device."""
        import torch

        model, processor = _model(self.path, self.device)
        images = list(frames.permute(0, 3, 1, 2))
        pixels = processor(images=images, return_tensors="pt", device=self.device)["pixel_values"]
        with torch.inference_mode(), autocast(self.device, self.set["precision"]):
            return model(pixel_values=pixels.to(self.device)).predicted_depth.float()


class _DepthJob:
    """The maps of one clip's sampled frames."""

    def __init__(self, backend: DepthAnythingV2, wants: np.ndarray, sampling: str):
        self.backend, self.wants, self.sampling = backend, wants, sampling
        self.batches = FrameBatches(backend.device, backend.options.batch_size, len(wants), self._compute)

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        self.batches.push(indices, frames)

    def finish(self) -> Depth:
        indices, (depth,) = self.batches.finish()
        facts = {"sampling": self.sampling, "precision": self.backend.set["precision"]}
        return Depth(frame_index=indices, depth=depth, metric=False, kind="relative inverse depth", facts=facts)

    def _compute(self, frames: torch.Tensor) -> tuple[torch.Tensor, ...]:
        from torch.nn.functional import interpolate

        depth = self.backend.predict(frames)
        scale = min(1.0, self.backend.set["max_side"] / max(depth.shape[1:]))
        size = [max(1, round(side * scale)) for side in depth.shape[1:]]
        return (interpolate(depth[:, None], size=size, mode="bilinear", align_corners=False, antialias=True)[:, 0],)


@lru_cache(maxsize=1)
def _model(path: Path, device: str) -> tuple[Any, Any]:
    from transformers import AutoImageProcessor, AutoModelForDepthEstimation

    try:
        model: Any = AutoModelForDepthEstimation.from_pretrained(path, local_files_only=True)
        processor = AutoImageProcessor.from_pretrained(path, local_files_only=True)
    except (OSError, ValueError) as error:
        raise BackendUnavailable(f"{path} holds no checkpoint that transformers can load: {error}") from None
    return model.eval().requires_grad_(False).to(device), processor
