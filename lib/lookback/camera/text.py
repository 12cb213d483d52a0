"""Camera requests in words: plain sentences, MBench-T's five caption segments, MBench-A's action conditions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, pairwise

from lookback.camera.intent import (
    DEFAULT_DEGREES,
    DEFAULT_FRAMES,
    ROTATIONS,
    WORDS_UNITS,
    CameraIntent,
    Motion,
    Segment,
    make_intent,
    motion,
)
from lookback.camera.sentences import Step, camera_words, read_steps
from lookback.errors import ParameterError
from lookback.media.sampling import segment_edges
from lookback.names import counted

_VERBS = {"yaw": "turns", "pitch": "tilts", "roll": "rolls", "pan": "slides", "dolly": "moves", "crane": "cranes"}

# MBench-A's action words; left and right are rotations (paper section 4.3: "left then right panning" is a pure angular twist)
ACTION_WORDS: dict[str, tuple[str, str] | None] = {
    "left": ("yaw", "left"),
    "right": ("yaw", "right"),
    "up": ("pitch", "up"),
    "down": ("pitch", "down"),
    "forward": ("dolly", "forward"),
    "backward": ("dolly", "back"),
    "wait": None,
}

_CAMERA = re.compile(r"\bcamera\b(?!')")


def _phrase(item: Motion, how_far: bool) -> str:
    unit = "degrees" if item.kind in ROTATIONS else "units"
    return f"{_VERBS[item.kind]} {item.direction}" + (f" {item.amount:g} {unit}" if how_far else "")


def _does(segment: Segment, how_far: bool = True) -> str:
    return " while it ".join(_phrase(item, how_far) for item in segment.motions) or "holds still"


def segment_sentence(segment: Segment) -> str:
    """One caption sentence, e.g. "The camera turns left 60 degrees." or "The camera holds still."."""
    return f"The camera {_does(segment)}."


def to_text(intent: CameraIntent, how_far: bool = True) -> str:
    """The whole request as one plain sentence with frame counts; without amounts where they are not known."""
    parts = [f"{_does(segment, how_far)} for {counted(segment.frames, 'frame')}" for segment in intent.segments]
    return f"The camera {', then '.join(parts)}."


def to_captions(intent: CameraIntent) -> list[str]:
    """One camera sentence per segment, as MBench-T prepends them to its caption segments."""
    return [segment_sentence(segment) for segment in intent.segments]


def parse_caption(caption: str, before: Sequence[Step] = ()) -> list[Step] | None:
    """The camera's steps that one caption asks for, after those of the captions before it.

    A caption that says nothing of the camera asks for no step, a fixed camera is an empty step. None when the caption names a move
    but not which one.
    """
    return read_steps(camera_words(caption.lower(), _CAMERA), before)


def parse_captions(captions: Sequence[str], frames: int = DEFAULT_FRAMES) -> CameraIntent:
    """MBench-T's caption segments (five in the benchmark) as one intent; the steps of a caption share the frames of its segment."""
    if not captions:
        raise ParameterError("A caption sequence is empty; MBench-T gives one caption per segment.")
    steps: list[Step] = []
    segments: list[Segment] = []
    for caption, (start, stop) in zip(captions, pairwise(segment_edges(frames, len(captions))), strict=True):
        asked = parse_caption(caption, steps)
        if asked is None:
            raise ParameterError(f"The caption '{caption}' moves the camera, but not in one known way; name a side for each move.")
        steps += asked
        segments += make_intent(asked or [()], stop - start).segments
    return CameraIntent(tuple(segments), "text")


def parse_action(condition: str, frames: int = DEFAULT_FRAMES) -> CameraIntent:
    """MBench-A's condition `{action}_{length}`, e.g. `left_then_right_25s` or `left_then_wait_then_right_10s`.

    The words between `_then_` are the phases (exit, wait, reenter); they share `frames`, the length of the video.
    """
    action = re.sub(r"_\d+(?:\.\d+)?s$", "", condition)
    moves = [_action_motion(word, condition) for word in action.split("_then_")]
    return make_intent(moves, frames, condition)


def parse_action_sequence(actions: Sequence[str]) -> CameraIntent:
    """MBench-A's A = [a_1 ... a_T], one action word per frame; equal neighbours form a segment of full amount."""
    if not actions:
        raise ParameterError("An action sequence is empty; MBench-A gives one action word per frame.")
    runs = [(word, len(list(run))) for word, run in groupby(actions)]
    return CameraIntent(tuple(Segment(_action_motion(word, word), n) for word, n in runs))


def _action_motion(word: str, condition: str) -> tuple[Motion, ...]:
    if word not in ACTION_WORDS:
        raise ParameterError(f"Camera condition '{condition}' has the action '{word}'; valid are {', '.join(ACTION_WORDS)}.")
    entry = ACTION_WORDS[word]
    if entry is None:
        return ()
    return (motion(*entry, DEFAULT_DEGREES if entry[0] in ROTATIONS else WORDS_UNITS),)
