"""KITTI odometry text: twelve numbers a line, the 3x4 camera-to-world matrix row by row."""

from __future__ import annotations

from pathlib import Path

from lookback.artifacts import PoseTrack
from lookback.backends.pose.formats.common import load_rows, square, track
from lookback.media import VideoInfo


def read_kitti(path: Path, info: VideoInfo) -> PoseTrack:
    return track(square(load_rows(path, columns=12).reshape(-1, 3, 4), path), path, info)
