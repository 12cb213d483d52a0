"""Camera requests that are read from a prompt."""

from __future__ import annotations

import pytest
from lookback.camera.prompts import parse_prompt
from lookback.camera.requests import asked_of
from lookback.clips import Clip

AWAY_AND_BACK = (
    "A glass of water on a table. The camera smoothly pans to the left, causing the glass to gradually exit the "
    "field of view. The camera then pans back to the right, and the glass re-enters the frame, revealing that it turned left."
)
U_TURN = (
    "First person view of a person moving straight ahead on a road sees a person(subject) crossing from the left to right. "
    "Observer passes the subject (exits FOV) and follows a curved path to the right and performs a U-turn. Observer keeps walking "
    "forward and re-sees the subject in its FOV who keeps walking towards left."
)
JUMP = (
    "First person view, standing in a garden, sees a fox (subject) running toward the right. As the observer jumps up, the "
    "subject exits the FOV. Observer lands and then re-sees the subject."
)


def spoken(prompt: str) -> list[str]:
    request = parse_prompt(prompt, 80)
    assert request is not None and request.frames == 80
    return ["+".join(f"{m.kind} {m.direction} {m.amount:g}" for m in segment.motions) or "static" for segment in request.segments]


@pytest.mark.parametrize(
    ("prompt", "moves"),
    [
        (AWAY_AND_BACK, ["yaw left 60", "yaw right 60"]),
        (U_TURN, ["dolly forward 1.5", "yaw right 180", "dolly forward 1.5"]),
        (JUMP, ["crane up 1.5", "crane down 1.5"]),
        (
            "A cup. The camera smoothly tilts upward, causing the cup to exit. The camera tilts back down.",
            ["pitch up 60", "pitch down 60"],
        ),
        ("Observer turns the head toward the bottom-left and re-sees the dog.", ["yaw left 60"]),
        ("Observer turns around towards left to face the rear.", ["yaw left 180"]),
        ("A cat sits on a chair. The camera remains static.", ["static"]),
    ],
)
def test_the_moves_of_the_camera_are_read_in_their_order(prompt: str, moves: list[str]) -> None:
    assert spoken(prompt) == moves


@pytest.mark.parametrize("prompt", ["A dog turns left and runs forward.", "A man rotates a cup to the right.", ""])
def test_what_the_subject_does_is_no_request(prompt: str) -> None:
    assert parse_prompt(prompt, 80) is None


def test_a_request_of_the_dataset_comes_before_the_prompt() -> None:
    clip = Clip(benchmark="memobench", setting="real", clip_id="a", model_id="m", video="a.mp4", prompt=AWAY_AND_BACK, n_frames=81)
    request, source = asked_of(clip)
    assert source == "prompt" and request is not None and request.segments[0].motions[0].direction == "left"
    assert asked_of(clip.model_copy(update={"camera": "yaw_RL"}))[1] == "request"
    assert asked_of(clip.model_copy(update={"prompt": "A dog runs."})) == (None, "")
