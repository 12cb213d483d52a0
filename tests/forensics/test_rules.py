"""Every label has a case by construction in which it must be found, and one next to it in which it must not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from forensics_evidence import HEIGHT, WIDTH, N, make_clip, make_path, out_and_back, returned, seen_with
from lookback.forensics.evidence import Evidence, path_to_compare
from lookback.forensics.rules import LABELS, RULES, find_failures

EVENT = {"event_level": "state"}
INTRINSICS = np.array(
    [[WIDTH / 2 / np.tan(np.radians(30)), 0, WIDTH / 2], [0, WIDTH / 2 / np.tan(np.radians(30)), HEIGHT / 2], [0, 0, 1]]
)


def tracked(share: float) -> Evidence:
    """A subject that makes `share` of the image motion of a thing at rest under a 60 degree turn."""
    yaws = out_and_back()
    shift = -share * INTRINSICS[0, 0] * np.tan(np.radians(np.minimum(yaws, 80)))
    x = WIDTH / 2 + shift
    inside = x > 0
    boxes = np.stack([x - 20, np.full(N, 80.0), x + 20, np.full(N, 120.0)], axis=1)
    boxes[~inside] = np.nan
    base = seen_with(returned(), yaws)
    return replace(base, frames=np.arange(N), state=inside.astype(int), boxes=boxes, intrinsics=INTRINSICS, turns_only=True)


def truth(**changes: object) -> list[dict[str, object]]:
    base = {"from_truth": True, "event_share": 0.05, "off_truth": 0.0, "event_progress": 1.0}
    return returned(**{**base, **changes})


def jumped() -> np.ndarray:
    yaws = out_and_back()
    yaws[30:] += 25
    return yaws


WORLD = {"low_blocks": 0.8, "changed": 0.6, "palette_kept": 0.5}
OTHER = {"subject_colour": 0.3, "subject_structure": 0.3, "subject_strength": 0.3}
FOUND = {
    "object_vanishes": seen_with(returned(**OTHER, like_surroundings=0.99, own_colour=0.1, own_colour_here=0.05)),
    "identity_drift": seen_with(returned(**OTHER, own_colour=0.4, own_colour_here=0.4)),
    "state_reset": seen_with(truth(off_truth=0.05, event_progress=0.05, outside_event=0.0)),
    "event_never_starts": seen_with(returned(), **EVENT),
    "teleport": seen_with(returned(**OTHER, own_colour=0.95, own_colour_here=0.05, blob=0.03, like_surroundings=0.7)),
    "duplicate": seen_with(returned(blob=0.05, second_copy=0.9)),
    "background_hallucination": seen_with(returned(**WORLD)),
    "camera_drift": seen_with(returned(), out_and_back() + np.linspace(0, 14, N)),
    "camera_inactivity": seen_with(returned(), out_and_back(20.0)),
    "subject_dragged": tracked(0.2),
    "lighting_shift": seen_with(returned(gain=[0.6, 0.6, 0.7])),
    "style_shift": seen_with(returned(detail=2.0, saturation=1.5, gain=[0.8, 0.7, 0.6])),
    "cut_ghosting": seen_with(returned(), jumped()),
    "geometric_melt": seen_with(returned(bend=0.03, low_blocks=0.8, changed=0.4, palette_kept=0.95)),
}
NOT_FOUND = {
    "object_vanishes": seen_with(returned(**OTHER, like_surroundings=0.99, own_colour=0.1, own_colour_here=0.05, **WORLD)),
    "identity_drift": seen_with(returned(**OTHER, own_colour=0.4, own_colour_here=0.4), **EVENT),
    "state_reset": seen_with(truth(off_truth=0.001, event_progress=0.97)),
    "event_never_starts": seen_with(returned(**OTHER), **EVENT),
    "teleport": seen_with(returned(**OTHER, own_colour=0.95, own_colour_here=0.9, blob=0.0)),
    "duplicate": seen_with(returned(blob=0.0, second_copy=0.9)),
    "background_hallucination": seen_with(returned(low_blocks=0.8, changed=0.4, palette_kept=0.95, bend=0.03)),
    "camera_drift": seen_with(returned(), out_and_back() + np.linspace(0, 3, N)),
    "camera_inactivity": seen_with(returned(), out_and_back(50.0)),
    "subject_dragged": tracked(1.0),
    "lighting_shift": seen_with(returned(gain=[0.95, 0.95, 1.0])),
    "style_shift": seen_with(returned(detail=1.0, saturation=1.5)),
    "cut_ghosting": seen_with(returned()),
    "geometric_melt": seen_with(returned(bend=0.03, **WORLD)),
}


def labels(seen: Evidence) -> set[str]:
    return {found.label for _, found in find_failures(seen)}


def test_every_label_has_its_rule_and_its_two_cases():
    assert set(FOUND) == set(NOT_FOUND) == set(LABELS)
    assert len(LABELS) == 14


@pytest.mark.parametrize("label", LABELS)
def test_a_failure_is_found_alone_with_confidence_and_frames(label):
    found = find_failures(FOUND[label])
    assert [finding.label for _, finding in found] == [label]
    assert all(0.5 <= finding.confidence <= 1 for _, finding in found)
    assert all(0 <= finding.frame_start <= finding.frame_end < N for _, finding in found)


@pytest.mark.parametrize("label", LABELS)
def test_its_neighbour_is_not_taken_for_it(label):
    assert label not in labels(NOT_FOUND[label])


def test_a_faithful_return_has_no_failure_and_no_evidence_says_nothing():
    assert labels(seen_with(returned())) == set()
    assert labels(Evidence(make_clip())) == set()


def test_other_ways_to_the_same_label():
    """Wrong direction is camera drift, ghosting stands with cuts, a half faded subject vanishes, a twin in place is a duplicate."""
    assert labels(seen_with(returned(), -out_and_back(30.0))) == {"camera_drift"}
    assert labels(seen_with(returned(echo=0.4, detail=0.5))) == {"cut_ghosting"}
    assert labels(seen_with(returned(subject_colour=0.12, subject_structure=0.92, subject_strength=0.5))) == {"object_vanishes"}
    assert labels(seen_with(returned(blob=0.05, own_colour=1.6))) == {"duplicate"}
    assert labels(seen_with(truth(off_truth=0.05, outside_event=0.6, event_progress=0.9))) == {"teleport"}


def asked(peak: float, made: np.ndarray) -> Evidence:
    return replace(seen_with(returned(), made), requested=make_path(out_and_back(peak)))


@pytest.mark.parametrize("made", [179.8, 180.0, 180.2, 183.0])
@pytest.mark.parametrize("side", [1, -1])
def test_a_half_turn_is_not_taken_for_one_to_the_other_side(made: float, side: int):
    assert labels(asked(side * 180.0, out_and_back(side * made))) == set()


def test_turns_beyond_half_a_circle_are_told_apart():
    assert labels(asked(270.0, out_and_back(268.0))) == set()
    assert labels(asked(270.0, out_and_back(-268.0))) == {"camera_drift"}
    assert labels(asked(350.0, out_and_back(170.0))) == {"camera_inactivity"}


def test_what_was_seen_to_begin_is_a_reset_and_a_real_judge_overrules():
    departed = {"departure": True, "frame": 10, "reference": 0, "subject_structure": 0.6}
    assert labels(seen_with([*returned(), departed], **EVENT)) == {"state_reset"}
    assert labels(replace(seen_with(returned(), **EVENT), answers={"D6_endpoint": 0.9})) == set()


def test_a_shot_boundary_with_an_unbroken_camera_path_is_no_cut():
    assert labels(replace(seen_with(returned()), shots=(0, 20))) == set()
    assert labels(replace(seen_with(returned()), path=None, requested=None, shots=(0, 20))) == {"cut_ghosting"}


def test_the_jump_is_named_by_its_frame():
    found = [finding for _, finding in find_failures(FOUND["cut_ghosting"])]
    assert (found[0].frame_start, found[0].frame_end) == (30, 30)


def test_rules_are_written_out_with_their_thresholds():
    for rule in RULES:
        assert any(character.isdigit() for character in rule.when), rule.label
        assert rule.title
    assert make_path(out_and_back()).jump() is None


def test_a_camera_that_turns_as_far_as_was_asked_is_not_called_inactive(tmp_path):
    """`yaw30_LR` asks for 30 degrees, and so may a file of target poses: the preset's 60 are not what was asked for."""
    made = -out_and_back(30.0)
    np.save(tmp_path / "target.npy", make_path(made).c2w)
    for facts in ({"camera": "yaw_LR", "extras": {"camera_degrees": 30.0}}, {"target_poses": str(tmp_path / "target.npy")}):
        asked_for = path_to_compare(make_clip(**facts), None)
        assert asked_for is not None and asked_for.farthest == pytest.approx(30, abs=0.1)
        assert labels(replace(seen_with(returned(), made), requested=asked_for)) == set()
