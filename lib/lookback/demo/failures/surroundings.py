"""Failures of the surroundings: another background, another light."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from lookback.demo.failures.base import Context, Failure, World, failure
from lookback.demo.geometry import Shape
from lookback.demo.scene import Thing
from lookback.demo.textures import Texture

NIGHT_AMBIENT, NIGHT_SUN = (0.40, 0.46, 0.72), (0.25, 0.20, 0.12)  # factors at severity 1: dim and blue


@failure
class BackgroundHallucination(Failure):
    """On return the surroundings are made of other things: one after the other, as severity rises, all of them at 1."""

    name, title = "background_hallucination", "background hallucination"

    def __init__(self, severity: float, context: Context):
        super().__init__(severity, context)
        self._replaced = lru_cache(maxsize=None)(self._build)

    def _build(self, weight: float) -> tuple[Shape, ...]:
        things = self.context.scene.things
        turn = {name: order for order, name in enumerate(t.name for t in things if t.hallucinated)}
        return tuple(self._forgotten(thing, weight * len(turn) - turn.get(thing.name, 0)) for thing in things)

    def _forgotten(self, thing: Thing, share: float) -> Shape:
        weight = float(np.clip(np.round(share * 8) / 8, 0, 1))
        if not thing.hallucinated or weight == 0:
            return thing.shape

        def change(texture: Texture) -> Texture:
            return texture.edit("mix", thing.hallucinated[texture], weight) if texture in thing.hallucinated else texture

        return thing.shape.retextured(change)

    def world(self, world: World, frame: int) -> World:
        weight = self.severity * self.context.weight(frame)
        return replace(world, surroundings=self._replaced(weight)) if weight > 0 else world


@failure
class LightingShift(Failure):
    """On return it is evening: the light is dimmer and bluer."""

    name, title = "lighting_shift", "lighting change on return"

    def world(self, world: World, frame: int) -> World:
        weight = self.severity * self.context.weight(frame)
        ambient, sun = (1 - weight * (1 - np.array(factor)) for factor in (NIGHT_AMBIENT, NIGHT_SUN))
        return replace(world, light=world.light.scaled(ambient, sun)) if weight > 0 else world
