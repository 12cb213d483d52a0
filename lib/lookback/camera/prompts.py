"""The camera request in a prompt, where a dataset gives no trajectory: "The camera pans to the left ... then back to the right".

Also first-person prompts, where the observer is the camera: "Observer follows a curved path to the right and performs a U-turn".
A prompt names directions and an order, no degrees and no frames: amounts are defaults, and the segments share the frames evenly.
"""

from __future__ import annotations

import re

from lookback.camera.intent import DEFAULT_DEGREES, CameraIntent, Motion, make_intent, motion
from lookback.camera.text import ACTION_UNITS

TURN_AROUND_DEG = 180.0
_ACTOR = re.compile(r"\b(?:camera|observer|viewer|viewpoint|first[- ]person view)\b(?!')")
# here the words about the camera end, and those about the scene begin
_SCENE = re.compile(r"\b(?:sees|re-sees|causing|revealing|showing|capturing|following the|which|who|subject|another)\b|\.\s")
_SIDE = r"(?: back)?(?: over)?(?: towards?| to)?(?: the)? (?:(?:upper|bottom|lower|rear)-)?(?P<{0}>left|right)\b"
_SMOOTHLY = r"(?: \w+ly)?"
_PATTERNS: dict[str, str] = {
    "u_turn": r"u-turn(?: to the (?P<u_side>left|right))?",
    "around": rf"turn\w*{_SMOOTHLY} around(?: towards?| to)?(?: the)?(?: (?P<around_side>left|right))?",
    "curve": r"curved path" + _SIDE.format("curve_side"),
    "pitch": rf"(?:tilt|turn|look|pan|pitch)\w*(?: the head)?{_SMOOTHLY}(?: back)? (?P<pitch_side>up|down)(?:wards?)?\b",
    "yaw": rf"(?:pan|turn|rotat|swing|look|yaw|mov)\w*(?: the head)?{_SMOOTHLY}{_SIDE.format('yaw_side')}",
    "roll": rf"roll\w*{_SMOOTHLY}{_SIDE.format('roll_side')}",
    "slide": rf"(?:slid|truck|straf)\w*{_SMOOTHLY}{_SIDE.format('slide_side')}",
    "forward": r"(?:mov|walk|run|rid|driv|advanc|travel)\w* (?:straight )?(?:ahead|forwards?)\b|(?:push|zoom|doll)\w* in\b",
    "back": r"(?:mov|walk|run|rid|driv|travel)\w* backwards?\b|(?:pull|zoom|doll)\w* (?:back|out)\b",
    "up": r"jump\w* up\b|(?:crane|ris)\w* up\b",
    "down": r"\blands\b|(?:crane|lower)\w* down\b",
    "head_down": r"(?:lower|bow)\w* the head",
    "head_up": r"rais\w* the head",
    "still": r"\b(?:remains?|stays?|holds?|is|keeps?)?\s?(?:completely )?(?:static|fixed|stationary|still)\b",
}
_MOVE = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _PATTERNS.items()))
_TRAVELS = {"forward": ("dolly", "forward"), "back": ("dolly", "back"), "up": ("crane", "up"), "down": ("crane", "down")}
_NODS = {"head_down": "down", "head_up": "up"}
_TURNS = {"pitch": "pitch", "yaw": "yaw", "roll": "roll", "slide": "pan"}


def parse_prompt(prompt: str, frames: int, degrees: float = DEFAULT_DEGREES, units: float = ACTION_UNITS) -> CameraIntent | None:
    """The request in a prompt: its moves in their order, or a static camera. None when the prompt says nothing about the camera."""
    moves: list[tuple[Motion, ...]] = []
    still, side = False, "right"
    for words in _camera_words(prompt.lower()):
        for found in _MOVE.finditer(words):
            name = str(found.lastgroup)  # the outermost group, which closes last
            given = next((found[key] for key in found.groupdict() if key.endswith("_side") and found[key]), None)
            side = given if given in ("left", "right") else side
            still |= name == "still"
            if name in ("u_turn", "around"):
                moves.append((motion("yaw", side, TURN_AROUND_DEG),))
            elif name in _TRAVELS:
                moves.append((motion(*_TRAVELS[name], units),))
            elif name in _NODS:
                moves.append((motion("pitch", _NODS[name], degrees),))
            elif name in _TURNS and given:
                moves.append((motion(_TURNS[name], given, units if name == "slide" else degrees),))
    moves = [move for number, move in enumerate(moves) if number == 0 or move != moves[number - 1]]
    if not moves:
        return make_intent([()], frames, "prompt") if still and "camera" in prompt.lower() else None
    return make_intent(moves, frames, "prompt")


def _camera_words(prompt: str) -> list[str]:
    """The parts of the prompt in which the camera, or the person whose eyes it is, acts."""
    parts = []
    for actor in _ACTOR.finditer(prompt):
        rest = prompt[actor.end() :]
        following = _ACTOR.search(rest)
        rest = rest[: following.start()] if following else rest
        scene = _SCENE.search(rest)
        if scene is not None and scene[0] == "subject" and "(exits" in rest[scene.end() : scene.end() + 10]:
            scene = _SCENE.search(rest, scene.end())  # "Observer passes the subject (exits FOV) and follows a curved path"
        parts.append(rest[: scene.start()] if scene else rest)
    return parts
