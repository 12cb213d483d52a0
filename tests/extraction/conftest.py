"""Scenes and helpers of the extraction tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from extraction_scenes import Scene, render, there_and_back
from lookback.artifacts import PoseTrack
from lookback.backends.pose.classical.backend import PoseJob
from lookback.camera import from_yaw_pitch_roll
from lookback.media import VideoInfo

EstimatePose = Callable[..., PoseTrack]


def info_of(frames: np.ndarray, fps: float = 16.0) -> VideoInfo:
    n, height, width = frames.shape[:3]
    return VideoInfo(Path("clip.mp4"), "video", n, fps, width, height, n / fps, 0, "h264", "yuv420p", False)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    cv2.setNumThreads(1)


@pytest.fixture(scope="session")
def estimate_pose() -> EstimatePose:
    def estimate(frames: np.ndarray, fov_deg: float | None = 60.0, seed: int = 0) -> PoseTrack:
        job = PoseJob(info_of(frames), fov_deg, seed)
        for start in range(0, len(frames), 8):
            job.push(np.arange(start, min(start + 8, len(frames))), frames[start : start + 8])
        return job.finish()

    return estimate


@pytest.fixture(scope="session")
def yaw_scene() -> Scene:
    """The camera turns 50 deg to the right and back."""
    return render(from_yaw_pitch_roll(there_and_back(50, 41)))
