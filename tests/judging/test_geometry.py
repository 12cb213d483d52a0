"""Camera paths and visibility timelines whose answer is known by construction."""

from __future__ import annotations

import numpy as np
import pytest
from lookback.artifacts.masks import IN_VIEW, LEAVING, OUT, RETURNED
from lookback.camera.intent import compile, parse
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.errors import NotScorable, Reason
from lookback.judging.geometry import (
    camera_decision,
    camera_path,
    detections_timeline,
    reobserved_predicates,
    trigger,
    view_overlap,
    visibility,
)
from lookback.metrics.functional import reobservation_pattern

SIZE = (640, 360)
FOCAL = 320 / np.tan(np.radians(30))  # 60 deg horizontally
INTRINSICS = np.array([[FOCAL, 0, 320.0], [0, FOCAL, 180.0], [0, 0, 1]])


def path_of(c2w, moved=False, confidence=0.9):
    n = len(c2w)
    seconds, sure = np.arange(n) / 16, np.full(n, confidence)
    return camera_path(np.asarray(c2w, float), INTRINSICS, SIZE, seconds, sure, np.full(n, moved))


def grammar(script):
    return path_of(compile(parse(script)))


def timeline_of(pattern, fps=16, **areas):
    """One letter per quarter of a second: i in view, l leaving, o out, r returned, f a fragment at the border."""
    codes = {"i": (IN_VIEW, 0.05), "l": (LEAVING, 0.03), "o": (OUT, 0.0), "r": (RETURNED, 0.05), "f": (LEAVING, 0.008), **areas}
    state, area = zip(*[codes[letter] for letter in pattern for _ in range(fps // 4)], strict=True)
    return visibility(np.array(state), np.array(area), np.full(len(area), 0.8), np.arange(len(area)) / fps)


def test_view_overlap_of_a_pure_yaw_is_that_of_the_image_plane():
    """A ray at image x = f tan(a) moves to f tan(a - yaw). For the middle row, the share inside the image has a closed form."""
    angles = np.array([0.0, 10, 20, 30, 45, 60, 90, 180])
    overlap = view_overlap(from_yaw_pitch_roll(angles)[:, :3, :3], INTRINSICS, SIZE)
    half = np.tan(np.radians(30))
    seen_from = np.tan(np.radians(np.clip(angles - 30, -30, 30)))  # the left edge of the turned view, in the first image plane
    expected = np.where(angles < 60, (half - seen_from) / (2 * half), 0.0)
    assert overlap[0] == 1.0
    assert overlap[-2:] == pytest.approx(0)
    assert overlap == pytest.approx(expected, abs=0.09)  # the closed form is less exact above and below the middle row
    assert np.all(np.diff(overlap) <= 0)


def test_a_camera_that_turns_away_and_back_departs_and_returns():
    camera = grammar("yaw:left:60@40,yaw:right:60@41")
    assert (camera.departed, camera.returned, camera.inactive) == (True, True, False)
    assert "leaves the first view (60 deg at 2.4 s, with 0 % of it in sight) and comes back" in camera.describe()


@pytest.mark.parametrize(
    ("script", "departed", "returned", "inactive"),
    [
        ("static@81", False, False, True),
        ("yaw:left:3@40,yaw:right:3@41", False, False, True),
        ("yaw:left:20@40,yaw:right:20@41", False, False, False),
        ("yaw:left:60@81", True, False, False),
        ("yaw:left:60@40,yaw:right:10@41", True, False, False),
        ("yaw:right:180@40,yaw:right:180@41", True, True, False),
        ("pitch:up:50@40,pitch:down:50@41", True, True, False),
        ("yaw:right:60@30,yaw:left:60@30,yaw:right:90@30", True, True, False),
        ("yaw:left:50@30,yaw:right:120@60", True, True, False),
    ],
)
def test_paths_are_told_apart(script, departed, returned, inactive):
    camera = grammar(script)
    assert (camera.departed, camera.returned, camera.inactive) == (departed, returned, inactive)


def test_a_camera_that_only_moves_is_active_where_parallax_was_seen():
    walk = np.tile(np.eye(4), (81, 1, 1))
    walk[:, 2, 3] = np.linspace(0, 2, 81)
    assert not path_of(walk, moved=True).inactive
    assert path_of(np.tile(np.eye(4), (81, 1, 1)), moved=True).inactive


def test_a_path_that_moves_without_turning_does_not_say_whether_the_view_was_left():
    """A step sideways may take all of a near wall out of sight, and nothing of a far one: poses alone cannot tell."""
    walk = np.tile(np.eye(4), (81, 1, 1))
    walk[:, 0, 3] = np.interp(np.arange(81), [0, 40, 80], [0, 2, 0])
    camera = path_of(walk, moved=True)
    assert [camera_decision(camera, fact).confidence for fact in ("departed", "returned")] == [0.5, 0.5]
    assert not camera_decision(camera, "inactive").yes and "cannot be told from the path" in camera.describe()
    for subset in ("environment", "causal"):
        with pytest.raises(NotScorable, match="pose=classical") as refused:
            trigger(subset, camera, None)
        assert refused.value.reason == Reason.UNDEFINED
    assert not path_of(walk, moved=False).unknown and not grammar("yaw:left:60@81").unknown


def test_a_trembling_camera_is_inactive():
    noise = np.random.default_rng(0).normal(0, 0.3, (2, 81))
    assert path_of(from_yaw_pitch_roll(noise[0], noise[1])).inactive


TIMELINES = {  # seconds of four letters each; WRBench's sequences yyny, nnyy, yynn, yyyy are among them
    "iiii iiii oooo rrrr": ("yyny", True, None),
    "oooo oooo rrrr rrrr": ("nnyy", False, Reason.NO_INITIAL_JUDGEABLE),
    "iiii iiii oooo oooo": ("yynn", False, Reason.NO_RETURN),
    "iiii iiii iiii iiii": ("yyyy", False, Reason.NO_OOV),
    "iiil looo oooo fiii": ("ynny", True, None),
    "iiii ffff ffff iiii": ("ynny", True, None),
    "iiii oiii iiii iiii": ("yyyy", False, Reason.NO_OOV),
    "iiii iioo ooii iiii": ("ynny", True, None),  # hidden for half of each of two seconds
}


@pytest.mark.parametrize("pattern", TIMELINES)
def test_seconds_are_judgeable_when_most_of_their_frames_are(pattern):
    seconds, applicable, reason = TIMELINES[pattern]
    flags = timeline_of(pattern.replace(" ", "")).per_second(4)
    assert "".join("y" if flag else "n" for flag in flags) == seconds
    assert reobservation_pattern(flags) == (applicable, reason)


def test_hidden_returned_and_identifiable_are_told_apart_for_place_and_state():
    def said(pattern):
        return {name: decision.yes for name, decision in reobserved_predicates(timeline_of(pattern), None).items()}

    back = said("iiiioooorrrr")
    assert back == {
        "D5_hidden": True,
        "D5_returned": True,
        "D5_unidentifiable": False,
        "D6_hidden": True,
        "D6_returned": True,
        "D6_unidentifiable": False,
    }
    assert said("iiiioooorrrrooooooo") == back, "it came back before it left for good"
    assert not said("iiiiorrroooooooo")["D5_returned"], "lost for a moment, then gone for good"
    # the part that comes back is cut by the border: its place can be told, its state cannot
    part = said("iiiioooollll")
    assert (part["D5_unidentifiable"], part["D6_unidentifiable"]) == (False, True)
    gone = said("iiiioooooooo")
    assert (gone["D5_hidden"], gone["D5_returned"]) == (True, False)
    assert not any(said("iiiiiiiiiiii")[name] for name in ("D5_hidden", "D5_returned"))


def test_detections_become_a_timeline_where_long_gaps_are_absences():
    """Only frames with people are listed: every third frame of the first and of the last of four seconds."""
    found = np.r_[0:16:3, 48:64:3]
    area = np.full(len(found), 0.1)
    subject = detections_timeline(found, np.full(len(found), IN_VIEW), area, np.full(len(found), 0.9), 64, 16)
    assert subject.per_second(4) == [True, False, False, True]
    assert subject.back_at is not None
    steady = np.arange(0, 64, 3)
    ones = np.ones(len(steady))
    assert detections_timeline(steady, ones, 0.1 * ones, ones, 64, 16).hidden is None
    crowd = detections_timeline(np.array([0, 0, 20, 40]), np.ones(4), np.array([0.02, 0.1, 0.1, 0.1]), np.ones(4), 41, 16)
    assert crowd.relative_area[0] == 1, "the largest person of a frame counts"
    with pytest.raises(NotScorable):
        detections_timeline(np.array([], int), np.array([]), np.array([]), np.array([]), 64, 16)


def test_a_sliver_at_the_border_is_no_reappearance():
    assert timeline_of("iiiioooorrrr").reappears
    assert not timeline_of("iiiioooogggg", g=(LEAVING, 0.015)).reappears
    assert timeline_of("iiiioooollll").reappears, "cut by the border, but more than half of it"


def test_two_trackers_together_see_what_either_sees():
    lost, found = timeline_of("iiiioooooooo"), timeline_of("ooooooooiiii")
    assert lost.joined(found).per_second(3) == [True, False, True]
    with pytest.raises(NotScorable):
        lost.joined(timeline_of("iiii"))


def test_a_missed_detection_is_no_absence():
    state = np.full(81, IN_VIEW)
    state[40:43] = OUT
    subject = visibility(state, np.where(state == OUT, 0, 0.05), np.ones(81), np.arange(81) / 16)
    assert subject.hidden is None


def test_triggers_follow_their_subset():
    away, still = grammar("yaw:left:60@40,yaw:right:60@41"), grammar("static@81")
    back, gone, stays = timeline_of("i" * 4 + "o" * 8 + "r" * 8), timeline_of("i" * 4 + "o" * 16), timeline_of("i" * 20)
    assert trigger("human", still, back).yes and not trigger("human", away, gone).yes
    assert trigger("environment", away, stays).yes and not trigger("environment", still, back).yes
    assert trigger("object", away, stays).yes, "the view changed and the object was seen again"
    assert not trigger("object", away, gone).yes
    assert trigger("causal", away, None).yes and not trigger("causal", still, stays).yes
    with pytest.raises(NotScorable) as missing:
        trigger("human", away, None)
    assert missing.value.reason == Reason.NO_MASK
    with pytest.raises(NotScorable) as missing:
        trigger("environment", None, back)
    assert missing.value.reason == Reason.NO_POSES


def test_decisions_say_why_and_how_sure():
    decision = trigger("human", None, timeline_of("iiiioooorrrr"))
    assert (
        decision.because == "The subject is judgeable at 0.0 s, hidden from 1.0 s to 2.0 s, then back with 100 % of its usual area."
    )
    assert decision.confidence == pytest.approx(0.9)
    assert decision.p_yes == pytest.approx(0.9)
