"""Failures of the subject: it vanishes, changes, moves, doubles, forgets its event, or sticks to the camera."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lookback.camera.poses import yaw_deg
from lookback.demo.failures.base import Failure, World, failure
from lookback.demo.geometry import turn_y, vector
from lookback.demo.scene import SubjectState
from lookback.demo.textures import Texture

HUE, SWIRL = 130.0, 0.05  # of texture drift at severity 1


def _plus(place: tuple[float, float, float], offset: np.ndarray) -> tuple[float, float, float]:
    x, y, z = vector(place) + offset
    return float(x), float(y), float(z)


@failure
class ObjectVanishes(Failure):
    """On return the subject has faded to an opacity of 1 - severity."""

    name, title = "object_vanishes", "object vanishes"

    def world(self, world: World, frame: int) -> World:
        gone = self.severity * self.context.weight(frame)
        return replace(world, subject=replace(world.subject, opacity=1 - gone))


@failure
class IdentityDrift(Failure):
    """On return the subject has become another one by the share of severity."""

    name, title = "identity_drift", "identity drift"

    def world(self, world: World, frame: int) -> World:
        weight = self.severity * self.context.weight(frame)
        others = self.context.scene.subject.other_identity

        def change(texture: Texture) -> Texture:
            return texture.edit("mix", others[texture], weight) if texture in others else texture

        return replace(world, subject=replace(world.subject, change=change)) if weight > 0 else world


@failure
class TextureDrift(Failure):
    """On return the subject's colours have turned and its pattern has run."""

    name, title = "texture_drift", "texture drift"

    def world(self, world: World, frame: int) -> World:
        weight = self.severity * self.context.weight(frame)

        def change(texture: Texture) -> Texture:
            return texture.edit("hue", HUE * weight).edit("swirl", SWIRL * weight)

        return replace(world, subject=replace(world.subject, change=change)) if weight > 0 else world


def _faded(state: SubjectState, share: float) -> SubjectState:
    """The event undone by `share`."""
    x, y, z = state.moved
    return replace(state, state=state.state * (1 - share), moved=(x * (1 - share), y * (1 - share), z * (1 - share)))


@failure
class StateReset(Failure):
    """The event was seen to begin, but on return it is silently erased."""

    name, title = "state_reset", "state reset"
    needs = frozenset({"event"})

    def world(self, world: World, frame: int) -> World:
        return replace(world, subject=_faded(world.subject, self.severity * self.context.weight(frame)))


@failure
class EventNeverStarts(Failure):
    """The event is carried out only to 1 - severity, from the first frame on."""

    name, title = "event_never_starts", "event never starts"
    needs = frozenset({"event"})

    def world(self, world: World, frame: int) -> World:
        return replace(world, subject=_faded(world.subject, self.severity))


@failure
class Teleport(Failure):
    """On return the subject stands somewhere else."""

    name, title = "teleport", "teleport"

    def world(self, world: World, frame: int) -> World:
        jump = self.severity * self.context.weight(frame) * vector(self.context.scene.subject.teleport)
        return replace(world, subject=replace(world.subject, moved=_plus(world.subject.moved, jump)))


@failure
class Duplicate(Failure):
    """On return there are two; the twin has moved out by severity times its full distance."""

    name, title = "duplicate", "duplicated subject"

    def world(self, world: World, frame: int) -> World:
        weight = self.severity * self.context.weight(frame)
        if weight == 0:
            return world
        step = weight * vector(self.context.scene.subject.twin)
        return replace(world, twin=replace(world.subject, moved=_plus(world.subject.moved, step)))


@failure
class SubjectDragged(Failure):
    """The subject turns and moves with the camera by the share of severity, so that it never leaves."""

    name, title = "subject_dragged", "subject dragged with the camera"
    needs = frozenset({"motion"})

    def world(self, world: World, frame: int) -> World:
        if self.severity == 0:
            return world
        pose = self.context.target[frame]
        turn = self.severity * float(yaw_deg(np.stack([self.context.start, pose]))[1])
        eye = self.context.start[:3, 3]
        place = vector(self.context.scene.subject.place)
        own = place + vector(world.subject.moved)
        dragged = eye + self.severity * (pose[:3, 3] - eye) + turn_y(turn) @ (own - eye)
        return replace(world, subject=replace(world.subject, moved=_plus((0, 0, 0), dragged - place), turned=turn))
