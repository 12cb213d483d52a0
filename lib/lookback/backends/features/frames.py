"""The role `features`: one vector a frame and one a patch, of the sampled frames in their full field of view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lookback.backends.features.encoders import EMBEDDED, LITE, PAPER, Encoder, encoder, encoder_available
from lookback.backends.features.geometry import Grid, on_grid
from lookback.backends.runtime import SAMPLING, FrameBatches, checkpoint, sampled_frames, settings, torch_device
from lookback.registry import Availability, backend

if TYPE_CHECKING:
    import torch

    from lookback.artifacts import Artifact, Features
    from lookback.backends.base import BackendOptions
    from lookback.clips import Clip
    from lookback.media import VideoInfo

# `square` pads to a square canvas as WRBench's visual integrity does; False pads to whole patches only, which is cheaper.
OPTIONS: dict[str, Any] = {**SAMPLING, "path": "", "precision": "fp32", "max_side": 448, "square": True}


class FrameFeatures:
    """Loads its encoder when it first sees a frame; `encode` serves metrics that bring their own frames."""

    requires: ClassVar[tuple[str, ...]] = ()
    weights: ClassVar[str]
    defaults: ClassVar[Mapping[str, Any]] = OPTIONS

    def __init__(self, options: BackendOptions):
        self.options = options
        self.set = settings(options, self.defaults)
        self.device = torch_device(options)
        self.path = checkpoint(options, self.weights, self.set["path"])

    @classmethod
    def available(cls) -> Availability:
        return encoder_available(cls.weights)

    @property
    def encoder(self) -> Encoder:
        return encoder(self.weights, self.path, self.device, self.set["precision"])

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> FeatureJob:
        wants, sampling = sampled_frames(clip, info, self.set)
        return FeatureJob(self, wants, {"sampling": sampling})

    def encode(self, frames: np.ndarray) -> Features:
        """The features of frames uint8 (n,H,W,3), however many."""
        job = FeatureJob(self, np.arange(len(frames)), {})
        job.push(job.wants, frames)
        return job.finish()


class FeatureJob:
    """The features of one clip's wanted frames."""

    def __init__(self, backend: FrameFeatures, wants: np.ndarray, record: dict[str, Any]):
        self.backend, self.wants, self.record = backend, wants, record
        self.grid: Grid | None = None
        self.valid: torch.Tensor | None = None
        self.batches = FrameBatches(backend.device, backend.options.batch_size, len(wants), self._compute)

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        if self.grid is None:
            height, width = frames.shape[1:3]
            wanted = self.backend.set
            self.grid = Grid.of(height, width, self.backend.encoder.patch, wanted["max_side"], wanted["square"])
        self.batches.push(indices, frames)

    def finish(self) -> Features:
        from lookback.artifacts import Features  # here: the speed script runs the network where only torch is installed

        assert self.grid is not None
        indices, (cls, patches) = self.batches.finish()
        facts = {name: self.backend.set[name] for name in ("max_side", "square", "precision")}
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
        if self.valid is None:  # once per clip: a copy to the device waits for the work before it
            self.valid = torch.from_numpy(self.grid.valid).to(frames.device)
        cls, patches = model(on_grid(frames, self.grid, model.normalisation), self.valid.expand(len(frames), -1, -1))
        return cls, patches.to(torch.float16)


@backend(role="features", name="dinov2", title="DINOv2 ViT-B/14: CLS and patch tokens", weights=("dinov2-base",), **PAPER)
class Dinov2Features(FrameFeatures):
    weights = "dinov2-base"


@backend(role="features", name="dinov3", title="DINOv3 ViT-B/16: CLS and patch tokens", weights=("dinov3-vitb16",), **PAPER)
class Dinov3Features(FrameFeatures):
    weights = "dinov3-vitb16"


@backend(role="features", name=LITE, title="EfficientNet-Lite0: feature map, in place of DINO", weights=(LITE,), **EMBEDDED)
class LiteFeatures(FrameFeatures):
    weights = LITE
    defaults: ClassVar[Mapping[str, Any]] = {**OPTIONS, "square": False}
