"""Samplers against the benchmarks' own vectors and their defining properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lookback.errors import NotScorable, Reason, UsageError
from lookback.media import sample_fps, sample_segments, sample_uniform

# WRBench D2: 81 frames at 16 fps, sampled at 3 fps.
WRBENCH_81_AT_16 = [0, 5, 11, 16, 21, 27, 32, 37, 43, 48, 53, 59, 64, 69, 75, 80]


def test_wrbench_vector() -> None:
    assert sample_fps(81, 16, 3).tolist() == WRBENCH_81_AT_16
    assert sample_fps(81, 16, 3, max_frames=24).tolist() == WRBENCH_81_AT_16


def test_wrbench_cap_keeps_first_and_last() -> None:
    indices = sample_fps(300, 30, 3, max_frames=24)
    assert len(indices) == 24
    assert (indices[0], indices[-1]) == (0, 299)
    assert set(indices.tolist()) <= {*range(0, 300, 10), 299}


def test_a_clip_slower_than_the_target_is_taken_whole() -> None:
    assert sample_fps(7, 2, 3).tolist() == list(range(7))


@given(st.integers(1, 2000), st.floats(0.5, 120), st.floats(0.5, 60), st.one_of(st.none(), st.integers(2, 64)))
def test_sample_fps_is_ordered_bounded_and_keeps_the_ends(n_frames: int, fps: float, target: float, cap: int | None) -> None:
    indices = sample_fps(n_frames, fps, target, cap)
    assert np.issubdtype(indices.dtype, np.integer)
    assert (np.diff(indices) > 0).all()
    assert (indices[0], indices[-1]) == (0, n_frames - 1)
    assert cap is None or len(indices) <= cap
    if cap is None and len(indices) > 2:
        assert np.abs(np.diff(indices[:-1]) - max(fps / target, 1)).max() <= 1


def test_uniform_equals_numpy_linspace() -> None:
    assert sample_uniform(81, 8).tolist() == np.linspace(0, 80, 8).round().astype(int).tolist()
    assert sample_uniform(5, 8).tolist() == [0, 1, 2, 3, 4]
    assert sample_uniform(81, 1).tolist() == [40]


@given(st.integers(1, 5000), st.integers(1, 100))
def test_uniform_has_the_number_asked_for_without_repeats(n_frames: int, n: int) -> None:
    indices = sample_uniform(n_frames, n)
    assert len(indices) == min(n, n_frames)
    assert (np.diff(indices) > 0).all()
    assert 0 <= indices[0] <= indices[-1] < n_frames


def test_segments_of_a_known_clip() -> None:
    assert [segment.tolist() for segment in sample_segments(40, 4, 2)] == [[2, 7], [12, 17], [22, 27], [32, 37]]


@given(st.integers(1, 3000), st.integers(1, 12), st.integers(1, 9))
def test_segments_stay_inside_their_part(n_frames: int, n_segments: int, per_segment: int) -> None:
    if n_segments > n_frames:
        with pytest.raises(NotScorable) as error:
            sample_segments(n_frames, n_segments, per_segment)
        assert error.value.reason is Reason.TOO_SHORT
        return
    segments = sample_segments(n_frames, n_segments, per_segment)
    assert len(segments) == n_segments
    for number, indices in enumerate(segments):
        start, stop = number * n_frames // n_segments, (number + 1) * n_frames // n_segments
        assert len(indices) == min(per_segment, stop - start)
        assert (np.diff(indices) > 0).all()
        assert start <= indices[0] <= indices[-1] < stop


def test_a_clip_without_a_rate_cannot_be_sampled_in_time() -> None:
    with pytest.raises(NotScorable) as error:
        sample_fps(81, None, 3)
    assert error.value.reason is Reason.MISSING_INPUT


@pytest.mark.parametrize("call", [lambda: sample_uniform(0, 3), lambda: sample_uniform(3, 0), lambda: sample_fps(9, -1, 3)])
@pytest.mark.parametrize("again", [lambda: sample_fps(300, 30, 3, max_frames=1), lambda: sample_segments(9, 0, 1)])
def test_impossible_requests_are_refused(call, again) -> None:
    for request in (call, again):
        with pytest.raises(UsageError):
            request()
