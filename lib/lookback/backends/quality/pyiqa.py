"""MUSIQ, CLIP-IQA+ and the LAION aesthetic score, through the optional package `pyiqa` and checkpoints on disk.

`pyiqa` pulls another build of OpenCV into the environment, so it belongs into an environment of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lookback.artifacts import Artifact
from lookback.backends.base import BackendOptions
from lookback.backends.quality.job import QualityJob
from lookback.backends.runtime import SAMPLING, checkpoint, sampled_frames, settings, torch_device, usable
from lookback.clips import Clip
from lookback.media import VideoInfo
from lookback.registry import Availability, backend

OPTIONS: dict[str, Any] = {**SAMPLING, "path": ""}
METRICS = {"musiq": "musiq-spaq", "clipiqa": "clipiqa+", "aesthetic": "laion_aes"}  # array name: pyiqa's name


@backend(
    role="quality",
    name="pyiqa",
    title="MUSIQ-SPAQ, CLIP-IQA+ and LAION aesthetic (pyiqa)",
    embedded=False,
    weights=("pyiqa",),
)
class PyIqa:
    """`musiq` about 0 to 100, `clipiqa` 0 to 1, `aesthetic` about 1 to 10, per sampled frame."""

    requires: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: BackendOptions):
        self.set = settings(options, OPTIONS)
        self.batch_size = options.batch_size
        self.device = torch_device(options)
        self.path = checkpoint(options, "pyiqa", self.set["path"])

    @staticmethod
    def available() -> Availability:
        return usable("pyiqa", modules=("torch", "pyiqa"), install="pyiqa==0.1.15.post2 (in an environment of its own)")

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> QualityJob:
        wants, sampling = sampled_frames(clip, info, self.set)
        return QualityJob(self.measure, self.batch_size, wants, {"sampling": sampling, "metrics": METRICS})

    def measure(self, frames: np.ndarray) -> dict[str, np.ndarray]:
        import torch

        images = torch.from_numpy(np.ascontiguousarray(frames)).to(self.device).permute(0, 3, 1, 2).float().div(255)
        with torch.inference_mode():
            found = {name: metric(images) for name, metric in _metrics(self.path, self.device).items()}
        return {name: values.float().cpu().numpy().reshape(-1) for name, values in found.items()}


@lru_cache(maxsize=1)
def _metrics(path: Path, device: str) -> dict[str, Any]:
    """pyiqa looks for its checkpoints below torch's hub folder and fetches what it misses; everything is there already."""
    import torch

    torch.hub.set_dir(str(path))
    import pyiqa

    return {name: pyiqa.create_metric(known, device=torch.device(device)) for name, known in METRICS.items()}
