"""The evidence that rules read, on paths and records whose answer is known by construction."""

from __future__ import annotations

import made_artifacts
import numpy as np
import pytest
from forensics_evidence import make_clip, make_path, out_and_back, returned, seen_with
from lookback.artifacts import TruePoseTrack
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.forensics.evidence import Evidence, gather, path_to_compare, sure


def test_the_truth_begins_at_the_mark_of_the_clip():
    truth = TruePoseTrack.unpack(made_artifacts.poses(from_yaw_pitch_roll(np.arange(60.0))).pack())
    path = path_to_compare(make_clip(mark_time=20, n_frames=30), truth)
    assert path is not None and path.frames.tolist() == list(range(30))
    assert path.c2w == pytest.approx(truth.c2w[20:50])


def test_confidence_is_a_half_at_the_threshold_and_whole_where_it_is_certain():
    assert [sure(value, 2.0, 4.0) for value in (2.0, 3.0, 4.0, 9.0)] == [0.5, 0.75, 1.0, 1.0]


def test_a_finding_spans_the_compared_late_frames():
    assert seen_with(returned()).span() == (35, 38)


def test_a_jump_may_take_two_frames_and_needs_a_path_to_compare_with():
    yaws = 0.1 * np.arange(20.0)
    yaws[10:] += 12
    yaws[11:] += 12.5
    assert make_path(yaws).jump() == 11
    assert make_path(yaws[8:14]).jump() is None


def test_a_path_deviates_by_its_turns_not_by_where_it_begins():
    made, wanted = make_path(out_and_back() + 30), make_path(out_and_back())
    assert Evidence(make_clip(), made, wanted).deviation == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(("step", "known", "turns_only"), [(0.0, True, True), (1.0, True, False), (1.0, False, True)])
def test_a_camera_turns_only_where_it_is_not_seen_to_move(step, known, turns_only):
    c2w = from_yaw_pitch_roll(np.arange(9.0), position=np.outer(step * np.arange(9), [0, 0, 1]))
    pose = made_artifacts.poses(c2w, has_translation=np.full(9, known))
    assert gather(make_clip(), pose, None, None).turns_only is turns_only
