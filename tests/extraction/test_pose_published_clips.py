"""The embedded pose estimator on published clips, where they are at hand (third-party, never part of this repository)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from lookback.artifacts import PoseTrack
from lookback.backends.pose.classical.backend import PoseJob
from lookback.camera import yaw_deg
from lookback.media import open_video

CLIPS = Path(__file__).parents[3] / "shared" / "clips"
pytestmark = [
    pytest.mark.clips,
    pytest.mark.long,
    pytest.mark.skipif(not CLIPS.is_dir(), reason="the third-party clips (../shared/clips) are not here"),
]


@pytest.fixture(scope="module")
def pose_of() -> Callable[[str], PoseTrack]:
    def estimate(name: str) -> PoseTrack:
        with open_video(CLIPS / name) as reader:
            job = PoseJob(reader.info, None, 0)
            for indices, frames in reader.batches(8):
                job.push(indices, frames)
            return job.finish()

    return estimate


def test_ltx_video_never_moves_the_camera(pose_of: Callable[[str], PoseTrack]) -> None:
    assert pose_of("memobench/Real_007_ltxvideo.mp4").record["total_rotation_deg"] < 3


def test_the_ground_truth_pans_away_and_back(pose_of: Callable[[str], PoseTrack]) -> None:
    pose = pose_of("memobench/Real_007_gt.mp4")
    yaw = yaw_deg(pose.c2w)
    assert yaw.max() > 25 and 30 < int(yaw.argmax()) < 65
    assert abs(yaw[-1]) < 10 and np.abs(yaw[:25]).max() < 3


def test_requests_to_the_left_and_to_the_right_have_opposite_signs(pose_of: Callable[[str], PoseTrack]) -> None:
    left, right = pose_of("wrbench/case_a_yaw_lr.mp4"), pose_of("wrbench/case_a_yaw_rl.mp4")
    assert left.record["peak_yaw_deg"] < -8 and right.record["peak_yaw_deg"] > 8


def test_a_request_of_sixty_degrees_is_measured_as_such(pose_of: Callable[[str], PoseTrack]) -> None:
    pose = pose_of("wrbench/cat_expected_inspatio_yaw_rl60.mp4")
    assert pose.record["peak_yaw_deg"] == pytest.approx(60, abs=8) and pose.record["return_error_deg"] < 4
