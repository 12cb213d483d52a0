"""The geometric judge on videos: the demo world, whose truth is known, and real clips that a person looked at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lookback.backends.pose.classical.backend import PoseJob
from lookback.demo.clip import render_clip
from lookback.demo.plan import FPS, full_plan
from lookback.judging.geometry import camera_path, trigger, visibility
from lookback.media import open_video
from lookback.metrics.functional import reobservation_pattern

REAL = Path(__file__).resolve().parents[3] / "shared" / "clips" / "memobench"
WIDTH, HEIGHT = 128, 80
# (start of the clip id, failure): what happens at severity 1, by construction of the demo world
WORLD = {
    ("object:garage_001:text", "none"): True,
    ("object:garage_001:text", "object_vanishes"): False,
    ("environment:plaza", "camera_inactivity"): False,
    ("environment:plaza", "object_vanishes"): True,  # the camera revisits the place, whatever is there now
    ("office_officer_counter_sit__T2_div_b__yaw_RL", "none"): True,
    ("office_officer_counter_sit__T2_div_b__yaw_RL", "subject_dragged"): False,
}


@pytest.mark.parametrize(("clip_id", "failure"), WORLD)
def test_trigger_and_support_follow_the_demo_worlds_truth(clip_id, failure):
    task = next(task for task, _ in full_plan() if task.clip_id.startswith(clip_id))
    film = render_clip(task.spec((failure, float(failure != "none")), WIDTH, HEIGHT, 7))
    mask = film.parts == 1
    area, n = mask.mean(axis=(1, 2)), len(mask)
    cut = mask[:, [0, -1]].any(axis=(1, 2)) | mask[:, :, [0, -1]].any(axis=(1, 2))
    state = np.where(area == 0, 0, np.where(cut, 2, 1))
    seconds, sure = np.arange(n) / FPS, np.ones(n)
    subject = visibility(state, area, sure, seconds)
    if task.benchmark == "wrbench":
        assert reobservation_pattern(subject.per_second(int(np.ceil(n / FPS))))[0] == WORLD[clip_id, failure], subject.describe()
        return
    camera = camera_path(film.c2w, film.intrinsics, (WIDTH, HEIGHT), seconds, sure, sure.astype(bool))
    decision = trigger(task.subset, camera, subject)
    assert decision.yes == WORLD[clip_id, failure], decision.because


@pytest.mark.clips
@pytest.mark.skipif(not REAL.is_dir(), reason="the real clips are not in ../shared/clips")
@pytest.mark.parametrize(
    ("model", "inactive", "departed", "returned"),
    [("ltxvideo", True, False, False), ("wan", False, True, True)],
)
def test_on_real_clips_the_camera_is_called_what_the_frames_show(model, inactive, departed, returned):
    """Real_007, checked by eye: LTX-Video never moves the camera, Wan pans away and back."""
    with open_video(REAL / f"Real_007_{model}.mp4") as reader:
        info = reader.info
        job = PoseJob(info, None, 0)
        for index, frame in reader:
            job.push(np.array([index]), frame[None])
    poses = job.finish()
    seconds = poses.frame_index / info.fps
    size = (info.width, info.height)
    camera = camera_path(poses.c2w, poses.intrinsics, size, seconds, poses.confidence, poses.has_translation)
    assert (camera.inactive, camera.departed, camera.returned) == (inactive, departed, returned), camera.describe()
