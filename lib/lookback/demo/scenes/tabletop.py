"""Scenes of things on a table that change by themselves: a cup that tips over, a candle that burns down, ice that melts."""

from __future__ import annotations

import numpy as np

from lookback.demo.geometry import Glow, Shape, Vector, box, floor_patch, frustum, turn_z
from lookback.demo.props import CLOTH, PLASTER, WOOD, crates, picture, room_things, shelf, sofa, table, thing
from lookback.demo.scene import Event, Scene, Subject, Thing
from lookback.demo.textures import Texture

_TOP = 0.9
_CAMERA = (0.0, -1.14, -0.62)
_PLACE = (-0.1, -_TOP, 0.25)
_AWAY = (0.27, 0.0, 0.0)
_SHADOW = Texture("shadow")


def _cup(state: float, _moved: Vector) -> Shape:
    glaze, coffee = Texture("glaze"), Texture("coffee").edit("crop", 0.38, 0.1, 0.72, 0.45)
    standing = frustum(0.062, 0.088, 0.19, glaze, coffee)
    standing += box((0.05, 0.1, 0.016), Texture("glaze").tint(0.9, 0.9, 0.9), centre=(0.105, -0.05, 0))  # the handle
    pivot = np.array([0.062, 0.0, 0.0])
    tipped = standing.moved(-pivot).moved(pivot, turn_z(97 * state))
    spill = floor_patch(0.42 * state + 1e-3, 0.3 * state + 1e-3, Texture("spill"), (0.33, 0, 0.0), min(1.0, 3 * state))
    return tipped + floor_patch(0.34, 0.3, _SHADOW) + spill


def _candle(state: float, _moved: Vector) -> Shape:
    height = 0.34 * (1 - 0.68 * state)
    flame = frustum(0.013, 0.001, 0.05, Texture("wax").tint(1.3, 0.95, 0.3), foot=(0, -height - 0.008, 0))
    glows = (
        Glow(np.array([0.0, -height - 0.04, 0.0]), 0.13, (190.0, 120.0, 40.0)),
        Glow(np.array([0.0, -height - 0.03, 0.0]), 0.035, (255.0, 220.0, 150.0)),
    )
    plate = frustum(0.12, 0.14, 0.018, Texture("metal").tint(1.1, 0.95, 0.6), Texture("metal").tint(1.1, 0.95, 0.6))
    wax = frustum(0.056 + 0.02 * state, 0.052, height, Texture("wax"), Texture("wax").tint(1.1, 1.0, 0.85), foot=(0, -0.018, 0))
    return plate + wax + flame + floor_patch(0.42, 0.36, _SHADOW) + Shape(glows=glows)


def _ice(state: float, _moved: Vector) -> Shape:
    size = 0.25 * (1 - 0.66 * state)
    ice = Texture("ice")
    puddle = floor_patch(0.2 + 0.44 * state, 0.16 + 0.3 * state, Texture("puddle"), strength=min(1.0, 2 * state))
    return (
        floor_patch(size * 1.9, size * 1.7, _SHADOW) + puddle + box((size * 1.08, size, size), ice, top=ice.tint(1.05, 1.05, 1.05))
    )


def _events(the: str, action: str, moved: str, changed: str, start: str, end: str) -> dict[str, Event]:
    return {
        "none": Event("none", action, f"{the} stays as it is", f"{the} {start}, in its place"),
        "spatial": Event("spatial", action, f"{the} {moved}", f"{the} {start}, further to the right", _AWAY),
        "state": Event("state", action, f"{the} {changed}", f"{the} {end}, in its place"),
        "full": Event("full", action, f"{the} {moved} and {changed}", f"{the} {end}, further to the right", _AWAY),
    }


def _kitchen_room(front: Texture, side: Texture, floor: Texture) -> list[Thing]:
    return [
        *room_things((4.4, 2.6, 4.4), [front, side, Texture("wallpaper").edit("hue", 180.0), side.tint(0.92, 0.95, 1.0)], floor),
        thing("bookcase", shelf((-1.3, 0, -1.95), 180), 3),
        thing("sofa", sofa((0.8, 0, -1.7), 180), 0),
        thing("crates", crates((1.8, 0, 1.1), 4), 3),
        thing("crates left", crates((-1.85, 0, 1.0), 3, 0.5), 6),
    ]


def kitchen() -> Scene:
    things = [
        *_kitchen_room(Texture("tiles"), Texture("tiles").edit("hue", 40.0), Texture("checker")),
        thing("table", table((2.2, _TOP, 0.9), (0, 0, 0.3)), 1),
        picture("coffee", Texture("coffee"), 1.2, 0.85, (2.19, -1.4, 0.1), 90),
        picture("flower", Texture("flower"), 1.2, 0.85, (-2.19, -1.4, 0.1), 270),
        picture("cat", Texture("cat"), 1.0, 0.7, (0.0, -1.5, -2.19), 180),
        thing("shelf", box((1.8, 0.05, 0.25), WOOD, centre=(0.2, -1.55, 2.0)), 2),
        thing("tins", box((0.3, 0.3, 0.2), Texture("metal").tint(1.1, 0.7, 0.6), centre=(-0.3, -1.6, 2.0)), 2),
        thing("more tins", box((0.34, 0.22, 0.2), Texture("cardboard"), centre=(0.6, -1.6, 2.0)), 4),
    ]
    steel = Texture("metal").tint(0.5, 0.9, 0.7)
    subject = Subject(
        "a painted cup of coffee", ("cream glaze", "coloured dots", "red band"), _cup, _PLACE,
        {Texture("glaze"): steel, Texture("glaze").tint(0.9, 0.9, 0.9): steel},
        teleport=(0.34, 0.0, 0.0), twin=(-0.3, 0.0, 0.05),
    )  # fmt: skip
    events = _events(
        "the cup", "tip", "slides to the right", "tips over and spills", "stands upright", "lies on its side in a spill"
    )
    return Scene("kitchen", "causal", "a kitchen", False, subject, tuple(things), _CAMERA, events)


def dining() -> Scene:
    things = [
        *_kitchen_room(Texture("wallpaper"), Texture("brick"), WOOD),
        thing("table", table((2.2, _TOP, 0.9), (0, 0, 0.3), top=Texture("carpet"), side=WOOD.tint(0.8, 0.7, 0.6)), 1),
        picture("pagoda", Texture("pagoda"), 1.1, 0.8, (-0.75, -1.62, 2.19), 0),
        picture("coins", Texture("coins"), 0.9, 0.75, (0.95, -1.6, 2.19), 0),
        picture("retina", Texture("retina"), 0.9, 0.9, (2.19, -1.4, 0.1), 90),
        picture("rocket", Texture("rocket"), 1.2, 0.85, (-2.19, -1.4, 0.1), 270),
        picture("moon", Texture("moon"), 0.9, 0.9, (0.0, -1.5, -2.19), 180),
    ]
    wax = Texture("wax")
    subject = Subject(
        "a burning candle", ("cream wax", "red spiral"), _candle, _PLACE,
        {wax: Texture("stripes").edit("hue", 120.0), wax.tint(1.1, 1.0, 0.85): Texture("stripes").edit("hue", 120.0)},
        teleport=(0.34, 0.0, 0.0), twin=(-0.3, 0.0, 0.02),
    )  # fmt: skip
    events = _events("the candle", "burn", "is moved to the right", "burns down", "stands tall", "has burnt down to a stub")
    return Scene("dining", "causal", "a dining room", False, subject, tuple(things), _CAMERA, events)


def bar() -> Scene:
    things = [
        *_kitchen_room(Texture("brick").tint(0.8, 0.9, 1.1), PLASTER.tint(1.0, 0.85, 0.7), Texture("tiles")),
        thing("table", table((2.2, _TOP, 0.9), (0, 0, 0.3), top=Texture("checker"), side=CLOTH), 1),
        picture("flower", Texture("flower"), 1.1, 0.8, (0.6, -1.6, 2.19), 0),
        picture("tissue", Texture("tissue"), 0.9, 0.9, (-0.8, -1.6, 2.19), 0),
        picture("galaxies", Texture("galaxies"), 1.2, 1.0, (2.19, -1.4, 0.1), 90),
        picture("cameraman", Texture("cameraman"), 1.0, 1.0, (-2.19, -1.4, 0.1), 270),
        picture("pagoda", Texture("pagoda"), 1.2, 0.8, (0.0, -1.5, -2.19), 180),
    ]
    ice = Texture("ice")
    subject = Subject(
        "a block of ice", ("pale blue", "white cracks"), _ice, _PLACE,
        {ice: Texture("coins").tint(1.2, 1.0, 0.5), ice.tint(1.05, 1.05, 1.05): Texture("coins").tint(1.3, 1.1, 0.6)},
        teleport=(0.34, 0.0, 0.0), twin=(-0.38, 0.0, 0.02),
    )  # fmt: skip
    events = _events(
        "the block of ice", "melt", "is pushed to the right", "melts", "is whole", "has melted to a small lump in a puddle"
    )
    return Scene("bar", "causal", "a bar", False, subject, tuple(things), _CAMERA, events)
