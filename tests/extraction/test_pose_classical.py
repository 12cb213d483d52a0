"""The embedded pose estimator on a ray-cast room whose camera is known, and on the demo world."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import made_artifacts
import numpy as np
import pytest
import skimage.data
from extraction_scenes import Scene, Sprite, render, there_and_back
from lookback.artifacts import PoseTrack
from lookback.backends.base import BackendOptions
from lookback.backends.pose.classical.tracking import MAX_VIEWS, PointTracker
from lookback.camera import from_yaw_pitch_roll, relative_to_first, rotation_angle_deg
from lookback.camera.poses import turned_yaw_deg
from lookback.demo.clip import render_clip
from lookback.demo.plan import demo_plan
from lookback.demo.spec import ClipSpec
from lookback.errors import NotScorable, Reason
from lookback.registry import BACKENDS

EstimatePose = Callable[..., PoseTrack]


def rotation_errors(pose: PoseTrack, truth: np.ndarray) -> np.ndarray:
    return rotation_angle_deg(relative_to_first(pose.c2w), relative_to_first(truth))


def test_a_turn_and_return_is_followed_and_closed(yaw_scene: Scene, estimate_pose: EstimatePose) -> None:
    pose = estimate_pose(yaw_scene.frames)
    errors = rotation_errors(pose, yaw_scene.c2w)
    assert np.median(errors) < 0.3 and errors.max() < 1.0 and errors[-1] < 0.2
    assert pose.record["peak_yaw_deg"] == pytest.approx(50, abs=0.7)
    assert pose.record["total_rotation_deg"] == pytest.approx(100, abs=2)
    assert pose.record["loops"] > 0 and pose.record["flags"]["cut"] == []
    assert pose.confidence.min() > 0.7
    # the camera never moved: nothing may be said of its position
    assert not pose.has_translation.any() and pose.record["flags"]["no_parallax"] == [[0, 41]]
    assert not any("zoom" in note for note in pose.notes)
    assert np.allclose(pose.intrinsics[0], yaw_scene.intrinsics, atol=1e-6)


def test_an_unknown_field_of_view_is_estimated(yaw_scene: Scene, estimate_pose: EstimatePose) -> None:
    pose = estimate_pose(yaw_scene.frames, fov_deg=None)
    assert pose.record["focal_source"].startswith("estimated") and pose.record["fov_deg"] == pytest.approx(60, abs=2)
    assert np.median(rotation_errors(pose, yaw_scene.c2w)) < 0.8


def test_a_camera_that_does_not_turn_leaves_the_field_of_view_assumed(estimate_pose: EstimatePose) -> None:
    scene = render(from_yaw_pitch_roll(np.zeros(12)))
    pose = estimate_pose(scene.frames, fov_deg=None)
    assert pose.record["focal_source"].startswith("assumed") and pose.confidence.max() <= 0.5
    assert pose.record["total_rotation_deg"] == 0 and rotation_errors(pose, scene.c2w).max() < 0.05


def test_something_that_walks_through_does_not_move_the_camera(estimate_pose: EstimatePose) -> None:
    walk = np.stack([np.linspace(-1.6, 1.6, 25), np.full(25, 0.3), np.full(25, 2.2)], axis=1)
    scene = render(from_yaw_pitch_roll(np.zeros(25)), sprites=(Sprite(skimage.data.chelsea(), 1.3, 1.8, walk),))
    assert rotation_errors(estimate_pose(scene.frames), scene.c2w).max() < 0.3


def photograph_turning(yaw: np.ndarray, foreground: bool) -> np.ndarray:
    """A photograph far away that slides past a camera which turns; with a head that the camera carries, lower right."""
    wall = cv2.resize(np.concatenate([skimage.data.coffee(), skimage.data.rocket()[:400, :600]], axis=1), (1200, 400))
    head = cv2.resize(skimage.data.chelsea(), (120, 110))
    focal = 160 / np.tan(np.radians(30))
    x, y = np.meshgrid(np.arange(320) - 159.5, np.arange(192) - 95.5)
    frames = []
    for angle in np.radians(yaw):
        longitude, latitude = np.arctan2(x, focal) + angle, y / np.hypot(x, focal)
        u, v = (longitude * 340 + 200).astype(np.float32), (latitude * 340 + 200).astype(np.float32)
        frame = cv2.remap(wall, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
        if foreground:
            frame[82:, 170:290] = head
        frames.append(frame)
    return np.array(frames)


@pytest.mark.parametrize("foreground", [False, True])
def test_a_head_in_front_of_the_camera_does_not_stop_a_turn(estimate_pose: EstimatePose, foreground: bool) -> None:
    yaw = np.linspace(0, 120, 61)
    pose = estimate_pose(photograph_turning(yaw, foreground))
    activity = pose.activity()
    assert turned_yaw_deg(pose.c2w)[-1] == pytest.approx(120, abs=4)
    assert (pose.facts["fixed_to_camera"] > 0.05) == foreground
    assert activity.moves == "clear" and activity.trusted and activity.departs > 0.9 and activity.returns < 0.1


def test_a_whole_turn_of_a_camera_ends_at_360_degrees(estimate_pose: EstimatePose) -> None:
    pose = estimate_pose(render(from_yaw_pitch_roll(np.linspace(0, 360, 97))).frames)
    assert turned_yaw_deg(pose.c2w)[-1] == pytest.approx(360, abs=8)
    assert pose.activity().turn_degrees == pytest.approx(360, abs=8)


@pytest.mark.parametrize(("shake", "moves"), [(0.0, "none"), (5.0, "slight")])
def test_a_held_camera_and_a_shaken_one_are_told_apart(estimate_pose: EstimatePose, shake: float, moves: str) -> None:
    yaw = shake * np.sin(np.linspace(0, np.pi, 25))
    assert estimate_pose(render(from_yaw_pitch_roll(yaw)).frames).activity().moves == moves


def test_positions_come_up_to_scale_where_there_is_parallax(estimate_pose: EstimatePose) -> None:
    steps = there_and_back(1.4, 41)
    position = np.stack([steps, np.zeros(41), steps * 0.3], axis=1)
    scene = render(from_yaw_pitch_roll(there_and_back(12, 41), position=position))
    pose = estimate_pose(scene.frames)
    assert pose.has_translation.mean() > 0.9 and pose.record["flags"]["no_parallax"] in ([], [[40, 41]])
    assert any("looks like a moving camera" in note for note in pose.notes)
    assert np.median(rotation_errors(pose, scene.c2w)) < 1.0
    found = pose.c2w[:, :3, 3]
    scale = (found * position).sum() / (found**2).sum()
    assert scale > 0 and np.linalg.norm(found * scale - position) / np.linalg.norm(position) < 0.2


def test_a_blank_wall_is_low_texture_and_not_a_still_camera(estimate_pose: EstimatePose) -> None:
    noise = np.random.default_rng(0).normal(0, 1.5, (20, 192, 320, 3))
    with pytest.raises(NotScorable) as caught:
        estimate_pose(np.clip(128 + noise, 0, 255).astype(np.uint8))
    assert caught.value.reason is Reason.LOW_TEXTURE


def test_a_blank_stretch_is_flagged_and_held(estimate_pose: EstimatePose, yaw_scene: Scene) -> None:
    frames = yaw_scene.frames.copy()
    frames[15:20] = np.clip(128 + np.random.default_rng(0).normal(0, 1.5, frames[15:20].shape), 0, 255).astype(np.uint8)
    pose = estimate_pose(frames)
    assert any(start <= 16 and end >= 20 for start, end in pose.record["flags"]["low_texture"])
    assert pose.confidence[15:20].max() < 0.2
    assert rotation_errors(pose, yaw_scene.c2w)[-1] < 1.0  # the way back is recognised all the same


def test_a_cut_is_flagged_and_not_turned_into_motion(estimate_pose: EstimatePose) -> None:
    before = render(from_yaw_pitch_roll(np.linspace(0, 10, 12)))
    after = render(from_yaw_pitch_roll(np.linspace(150, 160, 12)))
    pose = estimate_pose(np.concatenate([before.frames, after.frames]))
    assert pose.record["flags"]["cut"] == [[12, 13]]
    jump = rotation_angle_deg(pose.c2w[11], pose.c2w[12])
    assert jump < 0.5 and pose.confidence[12:].max() == 0


def test_a_cut_back_to_a_known_view_is_recognised(estimate_pose: EstimatePose, yaw_scene: Scene) -> None:
    away = render(from_yaw_pitch_roll(np.full(12, 170.0)))
    frames = np.concatenate([yaw_scene.frames[:12], away.frames, yaw_scene.frames[:12]])
    pose = estimate_pose(frames)
    assert pose.record["flags"]["cut"] == [[12, 13], [24, 25]]
    truth = np.concatenate([yaw_scene.c2w[:12], yaw_scene.c2w[:12]])
    kept = np.r_[0:12, 24:36]
    found = made_artifacts.poses(pose.c2w[kept])
    assert rotation_errors(found, truth).max() < 0.5


def test_one_frame_is_too_short(yaw_scene: Scene, estimate_pose: EstimatePose) -> None:
    with pytest.raises(NotScorable) as caught:
        estimate_pose(yaw_scene.frames[:1])
    assert caught.value.reason is Reason.TOO_SHORT


def test_the_same_frames_give_the_same_bytes(yaw_scene: Scene, estimate_pose: EstimatePose) -> None:
    first, second = estimate_pose(yaw_scene.frames[:20]), estimate_pose(yaw_scene.frames[:20])
    assert first.record == second.record
    assert all(array.tobytes() == second.pack().arrays[name].tobytes() for name, array in first.pack().arrays.items())


def test_descriptors_kept_do_not_grow_with_the_clip() -> None:
    grey = np.random.default_rng(0).integers(0, 255, (32, 32, 3)).astype(np.uint8)
    tracker = PointTracker(32, 32)
    tracker._stride = 1
    for _ in range(MAX_VIEWS * 3):
        tracker.push(grey)
    assert len(tracker.views) <= MAX_VIEWS + 1 and tracker.views[0].frame == 0
    assert all(len(segment.positions) <= 90 for segment in tracker.segments)


def demo(benchmark: str, clip_id: str) -> ClipSpec:
    return next(
        p.spec for p in demo_plan() if p.task.benchmark == benchmark and p.task.clip_id == clip_id and p.spec.failure == "none"
    )


@pytest.mark.parametrize(
    ("benchmark", "clip_id", "fov"),
    [
        ("mbench", "object:playroom_001:right_then_wait_then_left_2s", 60.0),
        ("memobench", "real_002", 60.0),  # up to a blank ceiling
        ("mind", "1st_data/mirror_test/courtyard_001/path-1", None),
    ],
)
def test_demo_world_within_one_and_a_half_degrees(
    benchmark: str, clip_id: str, fov: float | None, estimate_pose: EstimatePose
) -> None:
    clip = render_clip(demo(benchmark, clip_id))
    errors = rotation_errors(estimate_pose(clip.frames, fov_deg=fov), clip.c2w)
    assert np.median(errors) <= 1.5 and errors[-1] <= 1.5


def test_the_backend_is_registered_as_embedded() -> None:
    spec = BACKENDS.get("pose=classical")
    assert spec.embedded and spec.available().usable and spec.build(BackendOptions()).requires == ()
