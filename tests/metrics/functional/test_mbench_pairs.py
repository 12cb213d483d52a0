"""Pair selection against brute force and paths whose fold is known by construction (MBench appendix B.1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.metrics.functional import caption_segment_pairs, fold_pairs
from scipy.spatial.transform import Rotation


def brute_distance(a: np.ndarray, b: np.ndarray) -> float:
    """norm(t_i - t_j) + angle / 180, the angle from scipy's rotation magnitude."""
    angle = (Rotation.from_matrix(a[:3, :3]).inv() * Rotation.from_matrix(b[:3, :3])).magnitude()
    return float(np.linalg.norm(a[:3, 3] - b[:3, 3]) + np.degrees(angle) / 180.0)


class TestFoldPairs:
    def test_a_symmetric_turn_pairs_each_frame_with_its_mirror(self) -> None:
        yaw = np.concatenate([np.arange(0.0, 30.0), np.arange(30.0, -1.0, -1.0)])  # frame 30 is the turnaround of 61
        chosen = fold_pairs(from_yaw_pitch_roll(yaw))
        assert chosen.turnaround == 30
        assert chosen.note == ""
        assert chosen.pairs.tolist() == [[i, 60 - i] for i in range(20)]
        assert chosen.values == pytest.approx(np.zeros(20), abs=1e-9)

    def test_matches_brute_force_on_a_crooked_path(
        self, rng: np.random.Generator, there_and_back: Callable[[float], np.ndarray]
    ) -> None:
        yaw = there_and_back(40.0)
        position = np.column_stack([np.sin(np.radians(yaw)) * 0.3, 0.01 * rng.normal(size=81), 0.002 * np.arange(81)])
        poses = from_yaw_pitch_roll(yaw, 0.3 * rng.normal(size=81), position=position)
        turn = int(np.argmax([brute_distance(poses[0], pose) for pose in poses]))
        nearest = {i: min(range(turn + 1, 81), key=lambda j: brute_distance(poses[i], poses[j])) for i in range(turn)}
        expected = sorted(sorted(nearest.items(), key=lambda pair: (pair[0] - pair[1], pair[0]))[:20])
        chosen = fold_pairs(poses)
        assert chosen.turnaround == turn
        assert [tuple(pair) for pair in chosen.pairs] == expected

    def test_spans_are_the_largest(self) -> None:
        yaw = np.concatenate([np.arange(0.0, 40.0), np.arange(40.0, -1.0, -1.0)])
        chosen = fold_pairs(from_yaw_pitch_roll(yaw), max_pairs=5)
        assert (chosen.pairs[:, 1] - chosen.pairs[:, 0]).tolist() == [80, 78, 76, 74, 72]

    @pytest.mark.parametrize(
        "yaw",
        [np.zeros(9), 0.1 * np.r_[0:5, 3:-1:-1], np.linspace(0.0, 80.0, 9), np.array([0.0, 40.0, 0.0])],
        ids=["stands still", "trembles by less than half a degree", "never returns", "too few frames"],
    )
    def test_without_a_turnaround_pairs_are_symmetric_and_say_so(self, yaw: np.ndarray) -> None:
        chosen = fold_pairs(from_yaw_pitch_roll(yaw))
        last = len(yaw) - 1
        assert "symmetric" in chosen.note
        assert chosen.turnaround is None
        assert chosen.pairs.tolist() == [[i, last - i] for i in range(len(yaw) // 2)]

    def test_neighbours_are_never_a_pair(self) -> None:
        assert fold_pairs(np.tile(np.eye(4), (6, 1, 1))).pairs.tolist() == [[0, 5], [1, 4]]


class TestCaptionSegmentPairs:
    def test_ranks_by_return_score_then_by_span(self) -> None:
        yaw = np.concatenate([np.zeros(4), np.full(12, 50.0), [3.0, 0.0, 0.0, 0.0]])  # frames 17-19 are back exactly
        chosen = caption_segment_pairs(from_yaw_pitch_roll(yaw), [range(i, i + 4) for i in range(0, 20, 4)])
        assert chosen.pairs.tolist() == [[0, 19], [0, 18], [1, 19], [0, 17], [1, 18]]
        assert chosen.values == pytest.approx(np.ones(5))

    def test_the_score_is_the_paper_s_formula(self) -> None:
        poses = from_yaw_pitch_roll(np.array([0.0, 0.0, 60.0, 60.0, 5.0]), position=np.outer([0, 0, 0, 0, 0.05], [1.0, 0.0, 0.0]))
        chosen = caption_segment_pairs(poses, [[0], [1], [3], [4]])
        assert chosen.pairs[0].tolist() == [0, 4]
        assert chosen.values[0] == pytest.approx(np.exp(-0.05 / 0.1 - 5.0 / 10.0))

    def test_only_the_first_two_and_last_two_segments_take_part(self) -> None:
        poses = np.tile(np.eye(4), (50, 1, 1))
        chosen = caption_segment_pairs(poses, [range(i, i + 10) for i in range(0, 50, 10)], max_pairs=10_000)
        assert set(chosen.pairs[:, 0]) == set(range(20))
        assert set(chosen.pairs[:, 1]) == set(range(30, 50))

    def test_neighbours_are_never_a_pair(self) -> None:
        chosen = caption_segment_pairs(np.tile(np.eye(4), (4, 1, 1)), [[0], [1], [2], [3]])
        assert sorted(chosen.pairs.tolist()) == [[0, 2], [0, 3], [1, 3]]
