"""The role `features`: one vector per sampled frame and one per patch. Frames are scaled and padded, never cropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lookback.backends.features.encoders import DINOV2, DINOV3, LITE, EncoderBackend
from lookback.backends.features.geometry import Grid, on_grid
from lookback.backends.runtime import SAMPLING, FrameBatches, Options, sampled_frames
from lookback.registry import backend

if TYPE_CHECKING:
    import torch

    from lookback.artifacts import Artifact, Features
    from lookback.clips import Clip
    from lookback.media import VideoInfo

# `square: True` pads to a square as WRBench's visual integrity does; False pads only to whole patches, which is cheaper.
OPTIONS: Options = {**SAMPLING, "path": "", "precision": "fp32", "max_side": 448, "square": True}


class FrameFeatures(EncoderBackend):
    """Features of sampled frames. Metrics with frames of their own call `encode`."""

    defaults: ClassVar[Options] = OPTIONS

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> FeatureJob:
        wants, sampling = sampled_frames(clip, info, self.settings)
        return FeatureJob(self, wants, {"sampling": sampling})

    def encode(self, frames: np.ndarray) -> Features:
        """The features of any number of frames uint8 (n,H,W,3)."""
        job = FeatureJob(self, np.arange(len(frames)), {})
        job.push(job.wants, frames)
        return job.finish()


class FeatureJob:
    """Computes the features of the wanted frames of one clip."""

    def __init__(self, backend: FrameFeatures, wants: np.ndarray, record: dict[str, Any]):
        self.backend, self.wants, self.record = backend, wants, record
        self.grid: Grid | None = None
        self.valid: torch.Tensor | None = None
        self.batches = FrameBatches(backend.device, backend.options.batch_size, len(wants), self._compute)

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        if self.grid is None:
            height, width = frames.shape[1:3]
            wanted = self.backend.settings
            self.grid = Grid.of(height, width, self.backend.encoder.patch, wanted["max_side"], wanted["square"])
        self.batches.push(indices, frames)

    def finish(self) -> Features:
        from lookback.artifacts import (
            Features,  # imported here because the speed script runs this file where only torch is installed
        )

        assert self.grid is not None
        indices, (cls, patches) = self.batches.finish()
        facts = {name: self.backend.settings[name] for name in ("max_side", "square", "precision")}
        return Features(
            frame_index=indices,
            cls=cls,
            patches=patches,
            valid=np.broadcast_to(self.grid.valid.ravel(), patches.shape[:2]).copy(),
            grid=np.array([self.grid.rows, self.grid.columns]),
            facts={**self.record, **facts, "patch": self.backend.encoder.patch, "n_frames": len(indices)},
        )

    def _compute(self, frames: torch.Tensor) -> tuple[torch.Tensor, ...]:
        import torch

        assert self.grid is not None
        model = self.backend.encoder
        if self.valid is None:  # copied once per clip: each copy to the device waits for earlier work
            self.valid = torch.from_numpy(self.grid.valid).to(frames.device)
        cls, patches = model(on_grid(frames, self.grid, model.normalisation), self.valid.expand(len(frames), -1, -1))
        return cls, patches.to(torch.float16)


@backend(role="features", name="dinov2", title="DINOv2 ViT-B/14: CLS and patch tokens", weights=(DINOV2,), embedded=False)
class Dinov2Features(FrameFeatures):
    weights = (DINOV2,)


@backend(role="features", name="dinov3", title="DINOv3 ViT-B/16: CLS and patch tokens", weights=(DINOV3,), embedded=False)
class Dinov3Features(FrameFeatures):
    weights = (DINOV3,)


@backend(role="features", name=LITE, title="EfficientNet-Lite0: feature map, in place of DINO", weights=(LITE,), embedded=True)
class LiteFeatures(FrameFeatures):
    weights = (LITE,)
    defaults: ClassVar[Options] = {**OPTIONS, "square": False}
