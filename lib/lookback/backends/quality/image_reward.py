"""MemoBench's prompt fidelity: ImageReward (Xu et al. 2023), through the optional package `image-reward` and local files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lookback.artifacts import Artifact, Rewards
from lookback.backends.base import BackendOptions
from lookback.backends.quality.job import QualityJob
from lookback.backends.runtime import SAMPLING, checkpoint, sampled_frames, settings, torch_device, usable
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo
from lookback.registry import Availability, backend

OPTIONS: dict[str, Any] = {**SAMPLING, "path": ""}


@backend(role="image_reward", name="image-reward", title="ImageReward-v1.0", embedded=False, weights=("image-reward",))
class ImageReward:
    """The raw reward of each sampled frame for the clip's prompt, about -2 to 2."""

    requires: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: BackendOptions):
        self.set = settings(options, OPTIONS)
        self.batch_size = options.batch_size
        self.device = torch_device(options)
        self.path = checkpoint(options, "image-reward", self.set["path"])

    @staticmethod
    def available() -> Availability:
        return usable("image-reward", modules=("torch", "ImageReward"), install="image-reward==1.5 (in an environment of its own)")

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> QualityJob:
        if not clip.prompt:
            raise NotScorable(Reason.MISSING_INPUT, "the clip has no prompt")
        wants, sampling = sampled_frames(clip, info, self.set)
        measure = lambda frames: {"image_reward": self.rewards(clip.prompt, frames)}  # noqa: E731 - closes over the clip's prompt
        return QualityJob(measure, self.batch_size, wants, {"sampling": sampling}, Rewards)

    def rewards(self, prompt: str, frames: np.ndarray) -> np.ndarray:
        """Rewards (n,) of frames uint8 (n,H,W,3)."""
        import torch
        from PIL import Image

        with torch.inference_mode():
            scores = _model(self.path, self.device).score(prompt, [Image.fromarray(frame) for frame in frames])
        return np.atleast_1d(np.asarray(scores, np.float32))


@lru_cache(maxsize=1)
def _model(folder: Path, device: str) -> Any:
    import ImageReward

    return ImageReward.load(str(folder / "ImageReward.pt"), device=device, med_config=str(folder / "med_config.json"))
