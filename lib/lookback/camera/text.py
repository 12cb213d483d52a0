"""Camera requests in words: plain sentences, MBench-T's five caption segments, MBench-A's action conditions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from lookback.camera.intent import (
    DEFAULT_DEGREES,
    DEFAULT_FRAMES,
    ROTATIONS,
    CameraIntent,
    Motion,
    Segment,
    make_intent,
    motion,
)
from lookback.errors import ParameterError

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
ACTION_UNITS = 1.5  # how far an MBench-A dolly goes when the condition names no distance (the benchmark names none)

# verb of a caption -> kind of motion, by the direction words it may take; WRBench's own yaw prompts say "the camera moves left"
_CAPTION_VERBS: tuple[tuple[str, str], ...] = (
    (r"slid\w*|truck\w*|straf\w*|track\w*|translat\w*", "pan"),
    (r"tilt\w*", "pitch"),
    (r"roll\w*", "roll"),
    (r"cran\w*|ris\w*|lower\w*", "crane"),
    (r"doll\w*|push\w*|pull\w*|zoom\w*|advanc\w*|retreat\w*", "dolly"),
    (r"pan\w*|turn\w*|rotat\w*|yaw\w*|swing\w*|look\w*|mov\w*|return\w*", "yaw"),
)
_ACROSS = re.compile(r"\b(left|right|up|down)\b")
_ALONG = re.compile(r"\b(forward|backwards?|back)\b")
_NEARER = re.compile(r"\b(in|out)\b")  # of a dolly only: a camera also turns "in place"
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*(degrees?|deg|°|units?|m\b|met(?:er|re)s?)")
_STILL = re.compile(r"\b(static|fixed|still|holds?|stationary|waits?|no movement)\b")
_OTHER_SUBJECT = re.compile(r"^\s*(the|an?|his|her|its|their|this|that|these|those|there|people|someone|nobody|everything)\b")


def _phrase(item: Motion) -> str:
    unit = "degrees" if item.kind in ROTATIONS else "units"
    return f"{_VERBS[item.kind]} {item.direction} {item.amount:g} {unit}"


def segment_sentence(segment: Segment) -> str:
    """One caption sentence, e.g. "The camera turns left 60 degrees." or "The camera holds still."."""
    body = " while it ".join(_phrase(item) for item in segment.motions) or "holds still"
    return f"The camera {body}."


def to_text(intent: CameraIntent) -> str:
    """The whole request as one plain sentence with frame counts."""
    parts = [f"{segment_sentence(s).removeprefix('The camera ').removesuffix('.')} for {s.frames} frames" for s in intent.segments]
    return f"The camera {', then '.join(parts)}."


def to_captions(intent: CameraIntent) -> list[str]:
    """One camera sentence per segment, as MBench-T prepends them to its caption segments."""
    return [segment_sentence(segment) for segment in intent.segments]


def _parse_clause(clause: str, degrees: float, units: float) -> Motion | None:
    verb = next((kind for pattern, kind in _CAPTION_VERBS if re.search(rf"\b(?:{pattern})\b", clause)), None)
    direction = _ACROSS.search(clause) or _ALONG.search(clause) or (_NEARER.search(clause) if verb == "dolly" else None)
    if verb is None or direction is None or _STILL.search(clause):
        return None
    word = {"backwards": "back", "backward": "back"}.get(direction[1], direction[1])
    kind = verb
    if word in ("forward", "back", "in", "out"):
        kind = "dolly"
    elif word in ("up", "down") and verb == "yaw":
        kind = "pitch"
    amount = _AMOUNT.search(clause)
    default = degrees if kind in ROTATIONS else units
    return motion(kind, word, float(amount[1]) if amount else default)


def _camera_clauses(sentence: str) -> list[str]:
    """The clauses of a sentence that are about the camera: two in "The camera pans left and tilts up, the dog sits still"."""
    clauses = re.split(r"\bwhile\b|\band\b|,", sentence.split("camera", 1)[1])
    return [clause.rpartition("camera")[2] for clause in clauses if "camera" in clause or not _OTHER_SUBJECT.match(clause)]


def parse_caption(caption: str, degrees: float = DEFAULT_DEGREES, units: float = ACTION_UNITS) -> tuple[Motion, ...]:
    """The camera motions one caption asks for; a caption without camera words, or with a fixed camera, asks for none."""
    sentences = [s for s in re.split(r"(?<=[.!?])\s+", caption.lower()) if "camera" in s]
    found = [_parse_clause(clause, degrees, units) for sentence in sentences for clause in _camera_clauses(sentence)]
    return tuple(item for item in found if item is not None)


def parse_captions(
    captions: Sequence[str], frames: int = DEFAULT_FRAMES, degrees: float = DEFAULT_DEGREES, units: float = ACTION_UNITS
) -> CameraIntent:
    """MBench-T's caption segments (five in the benchmark) as one intent; the segments share `frames` evenly."""
    if not captions:
        raise ParameterError("A caption sequence is empty; MBench-T gives one caption per segment.")
    return make_intent([parse_caption(caption, degrees, units) for caption in captions], frames, "text")


def parse_action(
    condition: str, frames: int = DEFAULT_FRAMES, degrees: float = DEFAULT_DEGREES, units: float = ACTION_UNITS
) -> CameraIntent:
    """MBench-A's condition `{action}_{length}`, e.g. `left_then_right_25s` or `left_then_wait_then_right_10s`.

    The words between `_then_` are the phases (exit, wait, reenter); they share `frames`, the length of the video.
    """
    action = re.sub(r"_\d+(?:\.\d+)?s$", "", condition)
    moves = [_action_motion(word, condition, degrees, units) for word in action.split("_then_")]
    return make_intent(moves, frames, condition)


def parse_action_sequence(actions: Sequence[str], degrees: float = DEFAULT_DEGREES, units: float = ACTION_UNITS) -> CameraIntent:
    """MBench-A's A = [a_1 ... a_T], one action word per frame; equal neighbours form a segment of full amount."""
    if not actions:
        raise ParameterError("An action sequence is empty; MBench-A gives one action word per frame.")
    runs = [(word, len(list(run))) for word, run in groupby(actions)]
    return CameraIntent(tuple(Segment(_action_motion(w, w, degrees, units), n) for w, n in runs))


def _action_motion(word: str, condition: str, degrees: float, units: float) -> tuple[Motion, ...]:
    if word not in ACTION_WORDS:
        raise ParameterError(f"Camera condition '{condition}' has the action '{word}'; valid are {', '.join(ACTION_WORDS)}.")
    entry = ACTION_WORDS[word]
    if entry is None:
        return ()
    return (motion(*entry, degrees if entry[0] in ROTATIONS else units),)


def to_action(intent: CameraIntent) -> list[str]:
    """One MBench-A action word per frame; segments that MBench-A has no word for are a `ParameterError`."""
    words = {entry: word for word, entry in ACTION_WORDS.items()}
    out: list[str] = []
    for segment in intent.segments:
        entry = None if not segment.motions else (segment.motions[0].kind, segment.motions[0].direction)
        if len(segment.motions) > 1 or entry not in words:
            raise ParameterError(f"MBench-A has no word for '{segment_sentence(segment)}'; valid are {', '.join(ACTION_WORDS)}.")
        out += [words[entry]] * segment.frames
    return out
