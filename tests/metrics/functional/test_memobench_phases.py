"""Phases and ground-truth frames against the spec's reference vectors and hand counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lookback.metrics.functional import ground_truth_index, ground_truth_pairs, phase_frames, phase_map


@pytest.mark.parametrize(
    ("arguments", "expected"), [((120, 220, 300, 81), (32, 59)), ((60, 100, 150, 81), (32, 54)), ((5, 298, 300, 81), (2, 80))]
)
def test_phase_map_reference_vectors(arguments: tuple[int, int, int, int], expected: tuple[int, int]) -> None:
    assert phase_map(*arguments) == expected


def test_the_d_phase_has_two_frames_at_least() -> None:
    assert phase_map(50, 51, 100, 100) == (50, 52)


@given(st.integers(1, 400), st.data(), st.integers(5, 400))
def test_every_phase_has_frames_and_they_cover_the_video_once(gt_frames: int, data: st.DataObject, n_frames: int) -> None:
    d_start = data.draw(st.integers(0, gt_frames))
    r_start = data.draw(st.integers(d_start, gt_frames))
    frames = phase_frames(*phase_map(d_start, r_start, gt_frames, n_frames), n_frames)
    assert all(len(part) >= 1 for part in frames.values())
    assert np.concatenate(list(frames.values())).tolist() == list(range(n_frames))


def test_official_counts_the_boundary_frames_twice() -> None:
    paper, official = phase_frames(32, 59, 81), phase_frames(32, 59, 81, variant="official")
    assert {phase: (part[0], part[-1]) for phase, part in paper.items()} == {"V": (0, 31), "D": (32, 58), "R": (59, 80)}
    assert {phase: (part[0], part[-1]) for phase, part in official.items()} == {"V": (0, 32), "D": (32, 59), "R": (59, 80)}


def test_ground_truth_index_is_python_s_round_of_the_linear_map() -> None:
    for n, first, last in ((33, 0, 120), (28, 120, 220), (22, 220, 299), (81, 0, 299), (7, 10, 13)):
        expected = [round(first + i * (last - first) / (n - 1)) for i in range(n)]
        assert ground_truth_index(n, first, last).tolist() == expected
    assert ground_truth_index(1, 42, 99).tolist() == [42]


@pytest.mark.parametrize("variant", ["paper", "official"])
def test_pairs_start_and_end_with_their_phase(variant: str) -> None:
    pairs = ground_truth_pairs(120, 220, 300, 81, variant=variant)  # type: ignore[arg-type]
    ends = {phase: (truth[0], truth[-1]) for phase, (_, truth) in pairs.items()}
    inclusive = variant == "official"
    assert ends == {"V": (0, 119 + inclusive), "D": (120, 219 + inclusive), "R": (220, 299), "": (0, 299)}
    assert all(len(frames) == len(truth) and (np.diff(truth) >= 0).all() for frames, truth in pairs.values())
    assert len(pairs[""][0]) == 81
