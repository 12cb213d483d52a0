"""The role `features`: one vector per sampled frame and one per patch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lookback.backends.features.encoders import DINOV2, DINOV3, LITE, EncoderBackend
from lookback.backends.features.geometry import Pad, Shaping
from lookback.backends.runtime import SAMPLING, FrameBatches, Options, check_finite, sampled_frames
from lookback.registry import backend

if TYPE_CHECKING:
    import torch

    from lookback.artifacts import Artifact, Features
    from lookback.clips import Clip
    from lookback.media import VideoInfo

OPTIONS: Options = {**SAMPLING, "path": "", "precision": "auto", "max_side": 448, "square": True}


class FrameFeatures(EncoderBackend):
    """Features of sampled frames. Metrics with frames of their own call `encode`."""

    defaults: ClassVar[Options] = OPTIONS

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> FeatureJob:
        wants, sampling = sampled_frames(clip, info, self.settings)
        facts = {name: self.settings[name] for name in ("max_side", "square")}
        return FeatureJob(self, wants, {"sampling": sampling, **facts}, Pad(**facts))

    def encode(self, frames: np.ndarray, shaping: Shaping | None = None) -> Features:
        """The features of any number of frames uint8 (n,H,W,3), prepared as `shaping` says (default: the options of the run)."""
        shaping = shaping or Pad(self.settings["max_side"], self.settings["square"])
        job = FeatureJob(self, np.arange(len(frames)), {}, shaping)
        job.push(job.wants, frames)
        return job.finish()

    def tokens(self, frames: np.ndarray, shaping: Shaping) -> np.ndarray:
        """Patch tokens (n,P,D) float32 of frames (n,H,W,3), uint8 or float in [0,1]. Tokens are not rounded to float16."""
        import torch

        pixels = torch.from_numpy(frames if frames.dtype == np.uint8 else frames * np.float32(255)).to(self.device)
        model = self.encoder
        with torch.inference_mode():
            images, cells = shaping.shape(pixels, model.patch, model.normalisation)
            valid = torch.from_numpy(cells).to(self.device).expand(len(frames), -1, -1)
            return model(images, valid)[1].float().cpu().numpy()


class FeatureJob:
    """Computes the features of the wanted frames of one clip."""

    def __init__(self, backend: FrameFeatures, wants: np.ndarray, record: dict[str, Any], shaping: Shaping):
        self.backend, self.wants, self.record, self.shaping = backend, wants, record, shaping
        self.cells: np.ndarray | None = None  # (rows, columns): False where a patch is padding only
        self.valid: torch.Tensor | None = None
        self.batches = FrameBatches(backend.device, backend.options.batch_size, len(wants), self._compute)

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        self.batches.push(indices, frames)

    def finish(self) -> Features:
        from lookback.artifacts import (
            Features,  # imported here because the speed script runs this file where only torch is installed
        )

        indices, (cls, patches) = self.batches.finish()
        assert self.cells is not None
        check_finite(cls, self.backend.precision)
        return Features(
            frame_index=indices,
            cls=cls,
            patches=patches,
            valid=np.broadcast_to(self.cells.ravel(), patches.shape[:2]).copy(),
            grid=np.array(self.cells.shape),
            facts={
                **self.record,
                "precision": self.backend.precision,
                "patch": self.backend.encoder.patch,
                "n_frames": len(indices),
            },
        )

    def _compute(self, frames: torch.Tensor) -> tuple[torch.Tensor, ...]:
        import torch

        model = self.backend.encoder
        images, self.cells = self.shaping.shape(frames, model.patch, model.normalisation)
        if self.valid is None:  # copied once per clip: each copy to the device waits for earlier work
            self.valid = torch.from_numpy(self.cells).to(frames.device)
        cls, patches = model(images, self.valid.expand(len(frames), -1, -1))
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
    on_gpu = "fp32"
    defaults: ClassVar[Options] = {**OPTIONS, "square": False}
