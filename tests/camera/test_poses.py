"""Poses against scipy's rotations, evo and values known by construction."""

import numpy as np
import pytest
from lookback.camera import poses
from lookback.camera.alignment import apply_similarity, umeyama
from lookback.errors import ContractError
from scipy.spatial.transform import Rotation


def random_path(rng, n=12):
    path = np.tile(np.eye(4), (n, 1, 1))
    path[:, :3, :3] = Rotation.random(n, random_state=rng).as_matrix()
    path[:, :3, 3] = rng.normal(size=(n, 3))
    return path


def test_rotation_angle_matches_scipy_magnitude():
    rng = np.random.default_rng(0)
    a, b = random_path(rng, 50), random_path(rng, 50)
    expected = np.degrees((Rotation.from_matrix(a[:, :3, :3]).inv() * Rotation.from_matrix(b[:, :3, :3])).magnitude())
    np.testing.assert_allclose(poses.rotation_angle_deg(a, b), expected, rtol=1e-9)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-6, 1e-3, 179.999999, 180.0])
def test_rotation_angle_is_exact_at_both_ends(angle):
    measured = poses.rotation_angle_deg(np.eye(3), poses.from_yaw_pitch_roll(angle))
    assert measured == pytest.approx(angle, rel=1e-9, abs=1e-14)


def test_from_yaw_pitch_roll_matches_scipy_yxz():
    rng = np.random.default_rng(1)
    angles = rng.uniform(-80, 80, size=(20, 3))
    expected = Rotation.from_euler("YXZ", angles, degrees=True).as_matrix()
    np.testing.assert_allclose(poses.from_yaw_pitch_roll(*angles.T)[:, :3, :3], expected, atol=1e-12)


def test_signs_right_is_positive_yaw_and_up_is_positive_pitch():
    path = np.stack([np.eye(4), poses.from_yaw_pitch_roll(30), poses.from_yaw_pitch_roll(0, 20)])
    np.testing.assert_allclose(poses.yaw_deg(path), [0, 30, 0], atol=1e-12)
    np.testing.assert_allclose(poses.pitch_deg(path), [0, 0, 20], atol=1e-12)
    assert path[1, 0, 2] > 0, "the viewing direction points to +x (right)"
    assert path[2, 1, 2] < 0, "the viewing direction points to -y (up)"


@pytest.mark.parametrize("peak", [179.8, 180.0, 180.2, 400.0, -270.0])
def test_a_turn_past_180_degrees_goes_on_counting(peak):
    yaw = np.concatenate([np.linspace(0, peak, 41), np.linspace(peak, 0, 41)])
    np.testing.assert_allclose(poses.turned_yaw_deg(poses.from_yaw_pitch_roll(yaw)), yaw, atol=1e-9)


def test_inverse_and_relative_match_matrix_inverse():
    path = random_path(np.random.default_rng(2))
    np.testing.assert_allclose(poses.inverse(path), np.linalg.inv(path), atol=1e-12)
    np.testing.assert_allclose(poses.relative_to_first(path), np.linalg.inv(path[0]) @ path, atol=1e-12)


def test_align_first_frame_undoes_a_rigid_move():
    rng = np.random.default_rng(3)
    target = random_path(rng)
    moved = random_path(rng, 1)[0] @ target
    np.testing.assert_allclose(poses.align_first_frame(target, moved), target, atol=1e-12)


def test_total_and_net_rotation_of_a_turn_and_return():
    path = poses.from_yaw_pitch_roll(np.concatenate([np.linspace(0, 60, 40), np.linspace(60, 0, 41)]))
    assert poses.total_rotation_deg(path) == pytest.approx(120.0)
    assert poses.net_rotation_deg(path) == pytest.approx(0.0, abs=1e-9)


def test_look_at_puts_the_target_on_the_optical_axis():
    pose = poses.look_at((1.0, -2.0, 3.0), (4.0, 0.5, -1.0))
    poses.validate_poses(pose[None])
    seen = poses.inverse(pose) @ np.array([4.0, 0.5, -1.0, 1.0])
    np.testing.assert_allclose(seen[:2], 0.0, atol=1e-12)
    assert seen[2] == pytest.approx(np.linalg.norm([3.0, 2.5, -4.0]))
    assert pose[1, 1] > 0, "image down stays world down"


def broken(**change):
    path = np.tile(np.eye(4), (3, 1, 1))
    path[1][change["at"]] = change["to"]
    return path


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (np.eye(4), "shape"),
        (np.zeros((0, 4, 4)), "shape"),
        (broken(at=(0, 3), to=np.nan), "frame 1"),
        (broken(at=(0, 0), to=1.1), "frame 1 is no rotation"),
        (broken(at=(0, 0), to=-1.0), "frame 1 is mirrored"),
        (broken(at=(3, 0), to=1.0), "last row"),
    ],
)
def test_invalid_poses_say_what_and_where(path, words):
    with pytest.raises(ContractError, match=words):
        poses.validate_poses(path)


def test_umeyama_recovers_a_known_similarity():
    rng = np.random.default_rng(4)
    path, rotation, shift = random_path(rng, 30), Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)
    target = 2.5 * path[:, :3, 3] @ rotation.T + shift
    found = umeyama(path[:, :3, 3], target)
    assert found.scale == pytest.approx(2.5)
    np.testing.assert_allclose(found.rotation, rotation, atol=1e-10)
    np.testing.assert_allclose(apply_similarity(path, found)[:, :3, 3], target, atol=1e-10)


def test_umeyama_matches_evo():
    geometry = pytest.importorskip("evo.core.geometry")
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(25, 3)), rng.normal(size=(25, 3))
    rotation, translation, scale = geometry.umeyama_alignment(x.T, y.T, with_scale=True)
    found = umeyama(x, y)
    np.testing.assert_allclose(found.rotation, rotation, atol=1e-10)
    np.testing.assert_allclose(found.translation, translation, atol=1e-10)
    assert found.scale == pytest.approx(scale)


def test_umeyama_of_a_camera_that_never_moves_has_scale_zero():
    found = umeyama(np.ones((8, 3)), np.random.default_rng(6).normal(size=(8, 3)))
    assert found.scale == 0.0
    assert np.isfinite(found.translation).all()


def test_poses_without_their_last_row_are_completed():
    path = poses.from_yaw_pitch_roll(np.linspace(0, 40, 5), position=(1.0, 2.0, 3.0))
    for stack in (path[:, :3], path, path[None], path[:, :3].astype(np.float32)):
        np.testing.assert_allclose(poses.square(stack), path, atol=1e-6)
    for wrong in (path[0], path[:, :2], np.full((3, 4, 4), "a")):
        with pytest.raises(ContractError, match="poses"):
            poses.square(wrong)
