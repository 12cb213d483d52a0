"""Interaction metrics against scipy's rotation logarithm and cosine distance, and hand-computed cases."""

from __future__ import annotations

import numpy as np
import pytest
from lookback.benchmarks.mbench.metrics.camera_interaction import INSTRUCTED_TWISTS
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.errors import NotScorable
from lookback.metrics.functional import camera_interaction, camera_interaction_cosine, text_interaction, twist_cosines
from scipy.spatial.distance import cosine as cosine_distance
from scipy.spatial.transform import Rotation


def random_path(rng: np.random.Generator, n: int = 12) -> np.ndarray:
    poses = np.tile(np.eye(4), (n, 1, 1))
    poses[:, :3, :3] = Rotation.from_rotvec(np.cumsum(rng.normal(0, 0.05, (n, 3)), axis=0)).as_matrix()
    poses[:, :3, 3] = np.cumsum(rng.normal(0, 0.05, (n, 3)), axis=0)
    return poses


class TestCameraInteraction:
    def test_is_the_cosine_of_scipy_s_twist(self, rng: np.random.Generator) -> None:
        path, instructed = random_path(rng), rng.normal(size=6)
        for index, ours in enumerate(twist_cosines(path, instructed)):
            first, second = path[index], path[index + 1]
            turn = (Rotation.from_matrix(first[:3, :3]).inv() * Rotation.from_matrix(second[:3, :3])).as_rotvec()
            move = np.linalg.solve(first[:3, :3], second[:3, 3] - first[:3, 3])
            assert ours == pytest.approx(1.0 - cosine_distance(np.concatenate([move, turn]), instructed), abs=1e-12)

    @pytest.mark.parametrize(
        ("name", "path"),
        [
            ("right", from_yaw_pitch_roll(np.arange(6.0))),
            ("left", from_yaw_pitch_roll(-np.arange(6.0))),
            ("up", from_yaw_pitch_roll(np.zeros(6), np.arange(6.0))),
            ("forward", from_yaw_pitch_roll(np.zeros(6), position=np.outer(np.arange(6), [0.0, 0.0, 0.2]))),
            ("move_left", from_yaw_pitch_roll(np.zeros(6), position=np.outer(np.arange(6), [-0.2, 0.0, 0.0]))),
        ],
    )
    def test_obeying_scores_one_and_the_opposite_zero(self, name: str, path: np.ndarray) -> None:
        assert camera_interaction(path, INSTRUCTED_TWISTS[name]) == pytest.approx(1.0)
        assert camera_interaction(path[::-1], INSTRUCTED_TWISTS[name]) == pytest.approx(0.0, abs=1e-12)

    def test_magnitude_does_not_matter(self) -> None:
        instructed = np.array([0, 0, 0, 0, 1, 0])
        slow, fast = (camera_interaction(from_yaw_pitch_roll(step * np.arange(9.0)), instructed) for step in (0.1, 7.0))
        assert slow == pytest.approx(fast)

    def test_an_instruction_per_transition(self) -> None:
        path = from_yaw_pitch_roll(np.array([0.0, 1.0, 2.0, 1.0, 0.0]))
        there_and_back = np.repeat([INSTRUCTED_TWISTS["right"], INSTRUCTED_TWISTS["left"]], 2, axis=0)
        assert camera_interaction(path, there_and_back) == pytest.approx(1.0)
        assert camera_interaction_cosine(path, INSTRUCTED_TWISTS["right"]) == pytest.approx(0.0, abs=1e-12)

    def test_a_frozen_camera_is_neither_right_nor_wrong(self) -> None:
        assert camera_interaction(np.tile(np.eye(4), (5, 1, 1)), INSTRUCTED_TWISTS["left"]) == 0.5

    def test_transitions_without_instruction_are_left_out(self) -> None:
        path = from_yaw_pitch_roll(np.array([0.0, 1.0, 0.0]))
        instructed = np.array([INSTRUCTED_TWISTS["right"], (0,) * 6])
        assert camera_interaction(path, instructed) == pytest.approx(1.0)


class TestTextInteraction:
    def test_is_the_macro_average_of_scipy_cosines(self, rng: np.random.Generator) -> None:
        images, texts = rng.normal(size=(4, 3, 16)) + 1.0, rng.normal(size=(4, 16)) + 1.0
        expected = np.mean(
            [[1.0 - cosine_distance(frame, text) for frame in frames] for frames, text in zip(images, texts, strict=True)]
        )
        assert text_interaction(images, texts) == pytest.approx(expected, abs=1e-12)

    def test_segments_of_unequal_length_weigh_the_same(self) -> None:
        images = [np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]] * 9)]
        assert text_interaction(images, [[1.0, 0.0], [0.0, 1.0]]) == pytest.approx(0.5)

    def test_negative_similarity_is_clipped_at_zero(self) -> None:
        assert text_interaction([[[1.0, 0.0]]], [[-1.0, 0.0]]) == 0.0

    def test_features_of_two_networks_are_a_reason(self) -> None:
        with pytest.raises(NotScorable, match=r"image features of shape \(1, 3\) against texts of shape \(1, 2\)"):
            text_interaction([[[1.0, 0.0, 0.0]]], [[1.0, 0.0]])
