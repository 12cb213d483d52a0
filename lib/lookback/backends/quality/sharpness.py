"""The embedded quality: variance of the Laplacian. It is named sharpness, and stands in for no paper's score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import cv2
import numpy as np

from lookback.artifacts import Artifact
from lookback.backends.base import BackendOptions
from lookback.backends.quality.job import QualityJob
from lookback.backends.runtime import SAMPLING, sampled_frames, settings
from lookback.clips import Clip
from lookback.media import VideoInfo
from lookback.registry import Availability, backend

OPTIONS: dict[str, Any] = dict(SAMPLING)


def sharpness(frame: np.ndarray) -> float:
    """Variance of the 3x3 Laplacian of the luma of one frame uint8 (H,W,3) (Pech-Pacheco et al. 2000)."""
    return float(cv2.Laplacian(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY), cv2.CV_64F).var())


@backend(
    role="quality",
    name="sharpness",
    title="Laplacian sharpness (no stand-in for MUSIQ, CLIP-IQA+ or LAION)",
    embedded=True,
)
class Sharpness:
    """One value a sampled frame: `sharpness`."""

    requires: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: BackendOptions):
        self.set = settings(options, OPTIONS)
        self.batch_size = options.batch_size

    @staticmethod
    def available() -> Availability:
        return Availability(True)

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> QualityJob:
        wants, sampling = sampled_frames(clip, info, self.set)
        return QualityJob(self.measure, self.batch_size, wants, {"sampling": sampling})

    def measure(self, frames: np.ndarray) -> dict[str, np.ndarray]:
        return {"sharpness": np.array([sharpness(frame) for frame in frames])}
