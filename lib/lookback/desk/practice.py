"""Practice clips: a mug on a table in a wide drawn picture over which the camera turns. What happens in each is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from lookback.errors import UsageError, hint
from lookback.media import encode

WIDTH, HEIGHT, FPS, FRAMES = 480, 270, 15.0, 45
WIDE, START, TURN = 1500, 260, 700  # pixels: the wide picture, where the view begins, how far the camera turns
RED, BLUE = (196, 52, 40), (38, 84, 190)
PLACE, ELSEWHERE = 500, 610  # where the mug stands, pixels from the left of the wide picture


@dataclass(frozen=True)
class Scene:
    """What is seen before the turn and after it. `turns` is False for a camera that stands still."""

    colour_after: tuple[int, int, int] | None = RED  # none: the mug is gone
    place_after: int = PLACE
    turns: bool = True


SCENES = {
    "returns": Scene(),
    "changed": Scene(colour_after=BLUE),
    "moved": Scene(place_after=ELSEWHERE),
    "gone": Scene(colour_after=None),
    "stays": Scene(turns=False),
}


def practice_clip(name: str, folder: Path) -> Path:
    """The clip of this name, drawn on the first call."""
    if name not in SCENES:
        raise UsageError(f"There is no practice clip '{name}'; {hint(name, SCENES)}")
    path = folder / f"practice_{name}.mp4"
    return path if path.is_file() else encode(path, frames(SCENES[name]), FPS)


def frames(scene: Scene) -> Iterator[np.ndarray]:
    """The frames: a third of the time the first view, a turn to the right, and back to the first view."""
    before, after = _room(RED, PLACE), _room(scene.colour_after, scene.place_after)
    for frame in range(FRAMES):
        share = 1 - abs(2 * np.clip((frame - FRAMES / 6) / (FRAMES * 2 / 3), 0, 1) - 1)
        left = START + round(TURN * share * scene.turns)
        yield (before if frame < FRAMES / 2 else after)[:, left : left + WIDTH]


def _room(colour: tuple[int, int, int] | None, place: int) -> np.ndarray:
    """A wall with a window, a picture and a lamp, a floor, and a table with a mug on it."""
    room = np.empty((HEIGHT, WIDE, 3), np.uint8)
    room[:] = np.linspace(232, 205, HEIGHT)[:, None, None] - np.array([0, 6, 22])
    room[215:] = (150, 112, 78)
    cv2.rectangle(room, (60, 40), (200, 150), (250, 250, 250), 8)
    cv2.rectangle(room, (66, 46), (194, 144), (150, 200, 235), -1)
    cv2.rectangle(room, (760, 50), (880, 140), (110, 72, 40), -1)
    cv2.rectangle(room, (770, 60), (870, 130), (60, 120, 90), -1)
    cv2.circle(room, (820, 95), 22, (240, 200, 60), -1)
    cv2.line(room, (1200, 215), (1200, 90), (70, 70, 70), 5)
    cv2.fillPoly(room, [np.array([[1165, 95], [1235, 95], [1215, 45], [1185, 45]])], (240, 220, 140))
    cv2.rectangle(room, (360, 180), (680, 194), (120, 78, 46), -1)
    for leg in (376, 656):
        cv2.rectangle(room, (leg, 194), (leg + 10, 255), (96, 60, 34), -1)
    if colour is not None:
        cv2.ellipse(room, (place + 20, 156), (13, 14), 0, -90, 90, colour, 6)
        cv2.rectangle(room, (place - 22, 134), (place + 20, 180), colour, -1)
        cv2.ellipse(room, (place - 1, 134), (21, 5), 0, 0, 360, tuple(int(0.7 * part) for part in colour), -1)
    return room
