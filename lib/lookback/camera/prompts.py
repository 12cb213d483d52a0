"""The camera request in a prompt, where a dataset gives no trajectory: "The camera pans to the left ... then back to the right".

Also first-person prompts, where the observer is the camera: "Observer follows a curved path to the right and performs a U-turn".
A prompt names directions and an order, seldom degrees and no frames: amounts are defaults, and the steps share the frames evenly.
"""

from __future__ import annotations

import re
from itertools import groupby

from lookback.camera.intent import CameraIntent, make_intent
from lookback.camera.sentences import camera_words, read_steps

_ACTOR = re.compile(r"\b(?:camera|observer|viewer|viewpoint|first[- ]person view(?: (?:as|with) an? \w+)?)\b(?!')")


def parse_prompt(prompt: str, frames: int) -> CameraIntent | None:
    """The request in a prompt: its steps in their order, or a static camera. None when it does not say how the camera moves."""
    steps = [step for step, _ in groupby(read_steps(camera_words(prompt.lower(), _ACTOR)) or [])]
    if not any(steps) and "camera" not in prompt.lower():
        return None  # an observer who stands still may turn the head
    return make_intent(steps, frames, "prompt") if steps else None
