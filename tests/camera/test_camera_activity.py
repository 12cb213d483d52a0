"""Camera activity on motion fields that are known by construction."""

from __future__ import annotations

import numpy as np
import pytest
from lookback.artifacts import PoseTrack
from lookback.camera import from_yaw_pitch_roll
from lookback.errors import NotScorable, Reason
from lookback.measures.camera_activity import CameraActivity, camera_activity, fixed_cells, picture_travel, predicted_motion

WIDTH, HEIGHT, ROWS, COLUMNS = 480, 270, 5, 8
FOCAL = WIDTH / 2 / np.tan(np.radians(30))
INTRINSICS = np.array([[FOCAL, 0, (WIDTH - 1) / 2], [0, FOCAL, (HEIGHT - 1) / 2], [0, 0, 1.0]])


def seen(c2w: np.ndarray, motion: np.ndarray | None = None, first_view: np.ndarray | None = None) -> CameraActivity:
    return camera_activity(c2w, INTRINSICS, np.arange(len(c2w)), np.zeros(len(c2w), bool), motion, first_view)


def turning(yaw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    c2w = from_yaw_pitch_roll(yaw)
    return c2w, predicted_motion(c2w, INTRINSICS, ROWS, COLUMNS).astype(np.float32)


def there_and_back(degrees: float, n: int = 81) -> np.ndarray:
    return degrees * np.minimum(np.linspace(0, 2, n), np.linspace(2, 0, n))


def still(n: int = 81, noise: float = 2e-4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, noise, (n, ROWS, COLUMNS, 2)).astype(np.float32)


def test_a_turn_there_and_back_is_clear_and_returns() -> None:
    c2w, motion = turning(there_and_back(60))
    activity = seen(c2w, motion)
    assert activity.moves == "clear" and activity.trusted
    assert activity.turn_degrees == pytest.approx(60, abs=0.1)
    assert activity.departs > 0.9 and activity.returns > 0.9
    assert activity.return_frame is not None and 50 < activity.return_frame < 75


@pytest.mark.parametrize("farther", [75.0, -75.0])
def test_a_camera_that_comes_back_and_then_turns_farther_away_did_come_back(farther: float) -> None:
    activity = seen(*turning(np.concatenate([there_and_back(50, 54), np.linspace(0, farther, 27)])))
    assert activity.departs > 0.9 and activity.returns > 0.9
    assert activity.return_frame is not None and 30 < activity.return_frame < 54


def test_a_tremble_before_the_camera_leaves_is_no_return() -> None:
    activity = seen(*turning(np.concatenate([there_and_back(9, 20), np.linspace(0, 75, 61)])))
    assert activity.departs > 0.9 and activity.returns < 0.1 and activity.return_frame is None


def test_a_path_that_knows_nothing_behind_a_cut_is_not_trusted() -> None:
    c2w, motion = turning(np.zeros(48))
    n = len(c2w)

    def track(lost: slice) -> PoseTrack:
        confidence = np.ones(n, np.float32)
        confidence[lost] = 0
        facts = {"has_translation": np.zeros(n, bool), "frame_index": np.arange(n), "flags": {"cut": [[24, 25]]}, "motion": motion}
        return PoseTrack(c2w=c2w, intrinsics=np.tile(INTRINSICS, (n, 1, 1)), confidence=confidence, **facts)

    assert track(slice(24, 27)).trusted()  # a few frames
    with pytest.raises(NotScorable, match="after the cut at frame 24 24 of 48 frames show no view that is known") as caught:
        track(slice(24, None)).trusted()
    assert caught.value.reason == Reason.UNTRUSTED_PATH


def test_noise_of_tracks_and_of_the_path_is_no_movement() -> None:
    trembling = np.random.default_rng(1).normal(0, 0.15, 81)
    activity = seen(from_yaw_pitch_roll(trembling), still())
    assert activity.moves == "none" and activity.p_moves < 0.05 and activity.returns < 0.05 and activity.trusted


def test_a_slow_small_turn_is_slight() -> None:
    assert seen(*turning(np.linspace(0, 12, 81))).moves == "slight"


def test_a_subject_that_walks_past_does_not_move_the_camera() -> None:
    motion = still()
    for frame in range(1, 81):
        column = frame * COLUMNS // 81
        motion[frame, 1:, column : column + 3, 0] += 0.015
    assert picture_travel(motion) < 0.05 and seen(from_yaw_pitch_roll(np.zeros(81)), motion).moves == "none"


def test_a_step_forward_is_a_movement_although_nothing_turns() -> None:
    x, y = np.meshgrid((np.arange(COLUMNS) + 0.5) / COLUMNS - 0.5, (np.arange(ROWS) + 0.5) / ROWS - 0.5)
    motion = still() + 0.02 * np.stack([x, y * HEIGHT / WIDTH], axis=-1).astype(np.float32)
    activity = seen(from_yaw_pitch_roll(np.zeros(81)), motion, np.linspace(1, 0.9, 81))
    assert activity.moves == "clear" and activity.turn_degrees < 1 and activity.departs < 0.1
    assert activity.trusted  # the turn of 0 degrees is right


@pytest.mark.parametrize("degrees", [180.0, 360.0])
def test_a_whole_turn_does_not_wrap_to_nothing(degrees: float) -> None:
    activity = seen(*turning(np.linspace(0, degrees, 81)))
    assert activity.turn_degrees == pytest.approx(degrees, abs=1) and activity.moves == "clear"


def test_a_camera_that_circles_while_it_looks_steeply_up_turns_by_no_more_than_half_a_turn() -> None:
    pitch = np.r_[np.linspace(0, 80, 41), np.full(40, 80.0)]
    path = from_yaw_pitch_roll(np.r_[np.zeros(41), np.linspace(0, 300, 40)], pitch)
    assert seen(path).turn_degrees <= 180.0


def with_handlebar(motion: np.ndarray) -> np.ndarray:
    held = motion.copy()
    held[:, 3:, 2:6] = still(len(motion))[:, 3:, 2:6]
    return held


def test_what_is_fixed_to_the_camera_is_found() -> None:
    _, motion = turning(np.linspace(0, 180, 81))
    expected = np.zeros((ROWS, COLUMNS), bool)
    expected[3:, 2:6] = True
    assert np.array_equal(fixed_cells(with_handlebar(motion)), expected)
    assert not fixed_cells(motion).any() and not fixed_cells(still()).any()


def test_a_part_that_stays_but_does_not_reach_the_lower_border_is_far_away_and_not_fixed() -> None:
    _, motion = turning(np.linspace(0, 180, 81))
    motion[:, :2] = still()[:, :2]
    assert not fixed_cells(motion).any()


def test_a_turn_that_the_path_reads_as_none_is_not_trusted() -> None:
    _, motion = turning(np.linspace(0, 180, 81))
    path = from_yaw_pitch_roll(np.random.default_rng(0).normal(0, 0.2, 81))
    activity = seen(path, with_handlebar(motion), np.zeros(81))
    assert not activity.trusted and "explains only" in activity.why
    assert activity.moves == "clear" and activity.departs > 0.9  # the picture still says what the camera does


def test_metrics_refuse_such_a_path_with_its_reason() -> None:
    _, motion = turning(np.linspace(0, 180, 81))
    track = PoseTrack(
        frame_index=np.arange(81),
        c2w=from_yaw_pitch_roll(np.zeros(81)),
        intrinsics=np.tile(INTRINSICS, (81, 1, 1)),
        confidence=np.ones(81, np.float32),
        has_translation=np.zeros(81, bool),
        motion=motion,
    )
    with pytest.raises(NotScorable) as raised:
        track.trusted()
    assert raised.value.reason is Reason.UNTRUSTED_PATH
    assert PoseTrack.unpack(track.pack()).activity() == track.activity()


def test_one_view_that_is_mistaken_for_the_first_is_no_return() -> None:
    c2w, motion = turning(np.linspace(0, 120, 81))
    views = np.full(81, np.nan)
    views[::8] = [1, 0.8, 0.5, 0, 0, 0, 0, 0.97, 0, 0, 0]
    assert seen(c2w, motion, views).returns < 0.1
    doubted = camera_activity(c2w, INTRINSICS, np.arange(81), np.zeros(81, bool), motion, views, doubt="the path is not known")
    assert doubted.returns < 0.1


def test_a_path_without_a_picture_is_believed() -> None:
    activity = seen(from_yaw_pitch_roll(there_and_back(60)))
    assert activity.moves == "clear" and activity.returns > 0.9 and activity.trusted
    moved = np.tile(np.eye(4), (81, 1, 1))
    moved[:, 2, 3] = np.linspace(0, 2, 81)
    stepped = camera_activity(moved, INTRINSICS, np.arange(81), np.ones(81, bool))
    assert stepped.moves == "clear" and stepped.turn_degrees < 1


def test_a_subject_that_is_taken_along_is_not_the_first_view() -> None:
    c2w, motion = turning(there_and_back(60))
    activity = seen(c2w, motion, np.ones(81))  # its own features match in every frame
    assert activity.departs > 0.9 and activity.returns > 0.9
