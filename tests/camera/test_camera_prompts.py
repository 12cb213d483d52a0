"""Camera requests that are read from a prompt."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from lookback.camera import Motion
from lookback.camera.prompts import parse_prompt
from lookback.camera.text import parse_caption

REAL_PROMPTS = Path(__file__).resolve().parents[3] / "shared" / "clips" / "memobench" / "real_metadata.csv"
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
    return [in_words(segment.motions) for segment in request.segments]


def in_words(step: Sequence[Motion]) -> str:
    return " + ".join(f"{item.kind} {item.direction} {item.amount:g}" for item in step) or "static"


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


NOT_KNOWN, NOTHING_SAID = None, ""
SENTENCES = {
    # from one side to the other is a turn to the other
    "The camera pans from left to right.": "yaw right 60",
    "The camera slowly pans left to right across the room.": "yaw right 60",
    "The camera pans from the right side to the left.": "yaw left 60",
    "The camera tilts from top to bottom.": "pitch down 60",
    "The camera trucks from right to left.": "pan left 1.5",
    # one after the other, and at once
    "The camera pans left and then right.": "yaw left 60, yaw right 60",
    "The camera pans left and right.": "yaw left 60, yaw right 60",
    "The camera tilts down then up.": "pitch down 60, pitch up 60",
    "The camera turns left. It then tilts up.": "yaw left 60, pitch up 60",
    "The camera holds for a second, then pans left.": "static, yaw left 60",
    "The camera dollies in before trucking right.": "dolly forward 1.5, pan right 1.5",
    "The camera looks up and turns left.": "pitch up 60 + yaw left 60",
    "The camera pans left while it tilts up.": "yaw left 60 + pitch up 60",
    "The camera pans left while slowly tilting up.": "yaw left 60 + pitch up 60",
    "The camera zooms in and out.": "dolly forward 1.5, dolly back 1.5",
    # and back
    "The camera pans to the left and back.": "yaw left 60, yaw right 60",
    "The camera rotates right 30 degrees and then returns to its start.": "yaw right 30, yaw left 30",
    "The camera moves forward, then moves back to its original position.": "dolly forward 1.5, dolly back 1.5",
    "The camera pans back to the left.": "yaw left 60",
    "The camera moves back.": "dolly back 1.5",
    # degrees and units
    "The camera turns 90 degrees to the right.": "yaw right 90",
    "The camera yaws left by 15°.": "yaw left 15",
    "The camera makes a 45-degree turn to the left.": "yaw left 45",
    "The camera pans 30 degrees left and then 20 degrees right.": "yaw left 30, yaw right 20",
    "The camera moves backward 2.5 meters.": "dolly back 2.5",
    # a side belongs to the verb before it
    "The camera is moving forward along the left wall.": "dolly forward 1.5",
    "The camera turns right to reveal a window on the left wall.": "yaw right 60",
    "The camera pans right, away from the cat on the left.": "yaw right 60",
    "The camera pans left across a still lake.": "yaw left 60",
    "The camera dollies left.": "pan left 1.5",
    # what it does not do
    "The camera does not move.": "static",
    "The camera pans left without tilting up.": "yaw left 60",
    "The camera does not pan left but right.": "yaw right 60",
    "The camera never pans left.": NOTHING_SAID,
    "The camera does not pan left or right.": NOTHING_SAID,
    # what others do
    "The camera remains fixed while the man turns left.": "static",
    "The camera stays still as Anna turns left.": "static",
    "The camera turns left and the man turns right.": "yaw left 60",
    "The camera pans right until the man turns left.": "yaw right 60",
    "A man walks toward the camera and turns left.": NOTHING_SAID,
    "The camera shows a dog. It turns left.": NOTHING_SAID,
    # a move, but which one?
    "The camera pans to the left of the house.": NOT_KNOWN,
    "The camera moves along the left wall.": NOT_KNOWN,
    "The camera pans back and forth.": NOT_KNOWN,
    "The camera pans left or right.": NOT_KNOWN,
    "The camera pans across the room.": NOT_KNOWN,
    "The camera tilts left.": NOT_KNOWN,
    "The camera rotates clockwise.": NOT_KNOWN,
    "The camera pans left, then orbits the statue.": NOT_KNOWN,
    "The camera follows the man as he turns left.": NOT_KNOWN,
    "The camera returns to its start.": NOT_KNOWN,
}


@pytest.mark.parametrize(("sentence", "meant"), SENTENCES.items())
def test_a_sentence_means_to_the_parsers_what_it_means_to_a_reader(sentence: str, meant: str | None) -> None:
    caption = parse_caption(sentence)
    assert (None if caption is None else ", ".join(in_words(step) for step in caption)) == meant
    request = parse_prompt(sentence, 80)
    assert (", ".join(in_words(segment.motions) for segment in request.segments) if request else None) == (meant or None)


@pytest.mark.clips
@pytest.mark.skipif(not REAL_PROMPTS.is_file(), reason="the published prompts are not here")
def test_the_164_real_prompts_of_memobench_ask_for_the_moves_that_its_table_s2_counts() -> None:
    with REAL_PROMPTS.open(encoding="utf-8") as handle:
        asked = Counter(", ".join(spoken(row["prompt"])) for row in csv.DictReader(handle))
    assert asked == {"yaw left 60, yaw right 60": 56, "yaw right 60, yaw left 60": 51, "pitch up 60, pitch down 60": 57}


@pytest.mark.parametrize("prompt", ["A dog turns left and runs forward.", "A man rotates a cup to the right.", ""])
def test_what_the_subject_does_is_no_request(prompt: str) -> None:
    assert parse_prompt(prompt, 80) is None
