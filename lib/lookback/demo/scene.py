"""A scene: surroundings, one main subject, the light, where the camera starts, and the event that may happen out of view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lookback.demo.geometry import Shape, Vector, turn_y, vector
from lookback.demo.light import Light
from lookback.demo.textures import Texture

DAYLIGHT = Light()
EVENT_START, EVENT_END = 0.12, 0.60  # shares of the clip: the event begins in view and ends before the camera returns


@dataclass(frozen=True)
class Event:
    """What happens to the subject: a move, a change of state, both or nothing (WRBench's 2x2)."""

    level: str
    action: str
    text: str  # what is asked for
    expected_state: str  # the correct state on return
    move: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def changes_state(self) -> bool:
        return self.level in ("state", "full")


@dataclass(frozen=True)
class Subject:
    """The thing to remember. `build(state, moved)` gives its shape around its foot: state 0 is the start, 1 the event's end."""

    name: str  # a noun phrase
    attributes: tuple[str, ...]
    build: Callable[[float, Vector], Shape]
    place: tuple[float, float, float]
    other_identity: Mapping[Texture, Texture]  # what identity drift turns each of its textures into
    teleport: tuple[float, float, float]  # a wrong place that is still in view
    twin: tuple[float, float, float]  # where a second one would stand


@dataclass(frozen=True)
class Thing:
    """A part of the surroundings that stays where it is."""

    name: str
    shape: Shape
    hallucinated: Mapping[Texture, Texture] = field(default_factory=dict)  # what background hallucination turns its textures into


@dataclass(frozen=True)
class Scene:
    """Everything but the camera's path."""

    name: str
    subset: str  # human, object, environment, causal
    place: str  # "a study", for prompts
    outdoor: bool
    subject: Subject
    things: tuple[Thing, ...]
    camera: tuple[float, float, float]  # start position; it looks along +z
    events: Mapping[str, Event]
    light: Light = DAYLIGHT


@lru_cache(maxsize=64)
def event_progress(frames: int) -> NDArray[np.float64]:
    """Progress of an event over a clip: 0 at first, then a smooth step (3s^2 - 2s^3) to 1."""
    time = np.arange(frames) / max(frames - 1, 1)
    step = np.clip((time - EVENT_START) / (EVENT_END - EVENT_START), 0, 1)
    return step * step * (3 - 2 * step)


@dataclass(frozen=True)
class SubjectState:
    """How the subject is in one frame."""

    state: float = 0.0
    moved: tuple[float, float, float] = (0.0, 0.0, 0.0)
    turned: float = 0.0  # degrees about the vertical through its foot
    opacity: float = 1.0
    change: Callable[[Texture], Texture] | None = None


def subject_shape(subject: Subject, state: SubjectState) -> Shape:
    """The subject in the world."""
    shape = subject.build(state.state, vector(state.moved))
    if state.change is not None:
        shape = shape.retextured(state.change)
    return shape.moved(vector(subject.place) + vector(state.moved), turn_y(state.turned))
