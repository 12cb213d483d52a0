"""The base of all failures of simulated world models: in the camera, in the world, or in the picture.

A failure happens while the subject is out of view, as in the papers, so that it is visible on return. Where the subject never
leaves, it fades in during the second half. Severity 0 changes nothing; more severity means more change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lookback.camera.intent import CameraIntent
from lookback.demo.geometry import Shape
from lookback.demo.light import Light
from lookback.demo.scene import Event, Scene, SubjectState
from lookback.errors import UsageError

RAMP = 0.12  # share of the clip over which a failure fades in when the subject is in view
STEPS = 8  # a fade is quantised, so that few in-between textures are painted


@dataclass(frozen=True)
class World:
    """The world in one frame."""

    subject: SubjectState
    surroundings: tuple[Shape, ...]
    light: Light
    twin: SubjectState | None = None


@dataclass(frozen=True)
class Context:
    """What a failure can use: the task, the faithful camera, and when the subject is out of view."""

    scene: Scene
    event: Event
    intent: CameraIntent
    start: NDArray[np.float64]  # (4,4) pose of frame 0
    target: NDArray[np.float64]  # (N,4,4) poses of the faithful camera
    absent: NDArray[np.bool_]  # (N,)
    sign: int  # left or right, from the seed

    @property
    def frames(self) -> int:
        return len(self.target)

    def absence(self) -> tuple[int, int] | None:
        """First run of frames [d, r) without the subject, after it was seen."""
        seen = np.flatnonzero(~self.absent)
        gone = np.flatnonzero(self.absent)
        gone = gone[gone > seen[0]] if len(seen) else gone[:0]
        if not len(gone):
            return None
        back = np.flatnonzero(~self.absent[gone[0] :])
        return int(gone[0]), int(gone[0] + back[0]) if len(back) else self.frames

    def weight(self, frame: int) -> float:
        """0 before the failure, 1 after it: a step while the subject is away, else a quantised fade in the second half."""
        absence = self.absence()
        if absence is not None:
            return float(frame >= (absence[0] + absence[1]) // 2)
        ramp = max(1.0, RAMP * self.frames)
        return float(np.floor(np.clip((frame - self.frames / 2) / ramp, 0, 1) * STEPS) / STEPS)


class Failure:
    """The base class changes nothing. A failure overrides the methods of the stages it changes."""

    name: ClassVar[str]
    title: ClassVar[str]  # what a viewer sees
    needs: ClassVar[frozenset[str]] = frozenset()  # "event", "motion": without it the failure would not show

    def __init__(self, severity: float, context: Context):
        self.severity, self.context = severity, context

    def camera(self, c2w: NDArray[np.float64]) -> NDArray[np.float64]:
        """The path that is filmed instead of the target."""
        return c2w

    def world(self, world: World, frame: int) -> World:
        """The world that is filmed instead of the right one."""
        return world

    def picture(self, frames: list[NDArray[np.uint8]], frame: int) -> NDArray[np.uint8]:
        """The picture that is shown instead of the filmed one; `frames` are the filmed ones so far."""
        return frames[frame]

    def displacement(self, frame: int, shape: tuple[int, int]) -> tuple[NDArray, NDArray] | None:
        """Where each pixel is fetched from (x, y maps) when the image itself is bent; None leaves it."""
        return None


FAILURES: dict[str, type[Failure]] = {}


def failure(cls: type[Failure]) -> type[Failure]:
    """Register a failure under its name."""
    FAILURES[cls.name] = cls
    return cls


@failure
class Faithful(Failure):
    name = "none"
    title = "faithful"


def make_failure(name: str, severity: float, context: Context) -> Failure:
    """The failure of that name; a severity outside [0,1] or an unknown name is a `UsageError`."""
    if name not in FAILURES:
        raise UsageError(f"There is no failure '{name}' in the demo world; failures: {', '.join(FAILURES)}")
    if not 0 <= severity <= 1:
        raise UsageError(f"Severity {severity:g} of failure '{name}' is outside [0, 1]")
    return FAILURES[name](severity, context)


def model_name(name: str, severity: float) -> str:
    """The simulated model's id: `sim-faithful`, `sim-object-vanishes-050`."""
    return "sim-faithful" if name == "none" else f"sim-{name.replace('_', '-')}-{round(severity * 100):03d}"
