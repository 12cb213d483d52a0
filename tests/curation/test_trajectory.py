"""Camera paths whose class and challenge are known by construction (compiled from requests)."""

import numpy as np
import pytest
from lookback.camera import compile as compile_request
from lookback.camera import from_yaw_pitch_roll, parse
from lookback.curation import challenge_from_path, challenge_from_visibility, trajectory_class

FIXED = {
    "yaw:left:36@30,yaw:right:36@30": "Pan L->R",
    "yaw:right:36@30,yaw:left:36@30": "Pan R->L",
    "pitch:up:20@30,pitch:down:20@30": "Tilt U->D",
    "pitch:down:20@30,pitch:up:20@30": "Tilt D->U",
    "yaw:right:180@60": "U-turn",
    "static@40": "Static",
    "dolly:forward:2@20,dolly:back:2@20": "Forward",
    "pan:left:2@20": "Sideways",
    "crane:up:2@20": "Vertical",
    "yaw:left:2@20,yaw:right:2@20": "Static",
}
OBSERVER = {
    "yaw:right:178@60+dolly:forward:3@60".replace("@60+", "+"): "U-turn",
    "dolly:forward:3@30,yaw:right:60+dolly:forward:2@30": "Forward",
    "dolly:forward:1@20,yaw:left:35@20,yaw:right:35@20": "Head turn",
    "pitch:up:25+dolly:forward:1@30": "Vertical",
    "crane:up:3+yaw:left:10@30": "Vertical",
}


@pytest.mark.parametrize("request_text", FIXED)
def test_a_fixed_camera_pans_tilts_or_stands(request_text):
    assert trajectory_class(compile_request(parse(request_text))) == FIXED[request_text]


@pytest.mark.parametrize("request_text", OBSERVER)
def test_an_observer_turns_walks_or_looks_up(request_text):
    assert trajectory_class(compile_request(parse(request_text)), observer=True) == OBSERVER[request_text]


def test_class_does_not_depend_on_where_the_world_lies():
    path = compile_request(parse("yaw:left:36@30,yaw:right:36@30"))
    elsewhere = from_yaw_pitch_roll(130.0, 12.0, 3.0, (5.0, -2.0, 9.0)) @ path
    assert trajectory_class(elsewhere) == "Pan L->R"


@pytest.mark.parametrize(
    ("timeline", "expected"),
    [
        ("yyyy", (False, False, 0)),
        ("yyny", (True, True, 1)),
        ("yynn", (True, False, 2)),
        ("ynnyny", (True, True, 2)),
        ("nnyynny", (True, True, 2)),
        ("ynyn", (True, True, 1)),
        ("nnnn", (None, None, None)),
    ],
)
def test_challenge_of_a_visibility_timeline(timeline, expected):
    found = challenge_from_visibility(np.array([letter == "y" for letter in timeline]))
    assert (found.departs, found.returns, found.gap_frames) == expected


def test_challenge_of_a_path_leaves_the_view_at_half_the_field_of_view():
    """60 degrees out and back over 81 frames: |yaw| > 30 in the frames whose linear progress exceeds one half."""
    path = compile_request(parse("yaw:left:60@40,yaw:right:60@41"))
    out, back = np.linspace(0, 60, 40), np.linspace(60, 0, 41)
    outside = int((out > 30).sum() + (back > 30).sum())
    found = challenge_from_path(path, (60.0, 40.0))
    assert (found.departs, found.returns, found.gap_frames) == (True, True, outside)
    assert challenge_from_path(path, (130.0, 90.0)).departs is False


def test_challenge_of_a_path_that_only_travels_cannot_be_told():
    assert challenge_from_path(compile_request(parse("dolly:forward:2@20,dolly:back:2@20")), (60.0, 40.0)).departs is None


@pytest.mark.parametrize("degrees", [340, 360, 380])
def test_a_full_turn_shows_the_first_view_again(degrees):
    found = challenge_from_path(compile_request(parse(f"yaw:right:{degrees}@81")), (60.0, 40.0))
    assert (found.departs, found.returns) == (True, True)


def test_a_turn_without_return_departs_only():
    found = challenge_from_path(compile_request(parse("yaw:right:90@40")), (60.0, 40.0))
    assert (found.departs, found.returns) == (True, False)
