"""Options and clips of the backend tests: frames that no file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from lookback.backends.base import BackendOptions
from lookback.clips import Clip
from lookback.media import VideoInfo


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
