"""Scenes with one thing to remember: a ball in a playroom, a motorcycle in a garage, a globe in a gallery."""

from __future__ import annotations

import numpy as np

from lookback.demo.geometry import Shape, Vector, ball, board, box, floor_patch, frustum, turn_z
from lookback.demo.props import CLOTH, PLASTER, WOOD, crates, picture, room_things, shelf, sofa, thing
from lookback.demo.scene import Event, Scene, Subject
from lookback.demo.textures import Texture

_SHADOW = Texture("shadow")


def _ball(state: float, moved: Vector) -> Shape:
    radius = 0.26 * (1 - 0.45 * state)
    rolled = np.degrees(moved[0] / 0.26)
    return ball(radius, Texture("stripes"), (0, -radius, 0), turn_z(rolled + 20)) + floor_patch(radius * 2.8, radius * 2.4, _SHADOW)


def playroom() -> Scene:
    things = [
        *room_things(
            (5.2, 2.6, 5.2),
            [PLASTER.tint(0.75, 0.9, 1.1), Texture("wallpaper").edit("hue", 200.0), Texture("wallpaper"), PLASTER],
            WOOD,
        ),
        thing("rug", floor_patch(3.4, 2.4, Texture("carpet"), (0, 0, 0.4)), 0),
        thing("blocks", crates((-1.25, 0, 1.4), 4, 0.42, Texture("stripes").edit("hue", 60.0)), 3),
        thing("box", box((0.6, 0.45, 0.5), Texture("cardboard"), centre=(1.5, 0, 1.7)), 4),
        thing("toy chest", box((1.0, 0.5, 0.5), WOOD.tint(0.7, 0.9, 1.2), centre=(0.2, 0, 2.2)), 5),
        picture("rocket", Texture("rocket"), 1.5, 1.0, (0.1, -1.25, 2.59), 0),
        picture("cat", Texture("cat"), 1.2, 0.85, (-1.7, -1.2, 2.59), 0),
        picture("moon", Texture("moon"), 0.9, 0.9, (2.59, -1.2, 0.6), 90),
        picture("flower", Texture("flower"), 1.2, 0.85, (2.59, -1.2, -1.0), 90),
        picture("coins", Texture("coins"), 1.2, 0.95, (-2.59, -1.2, 0.3), 270),
        thing("bookcase", shelf((-2.35, 0, -1.4), 270, 1.4), 3),
        thing("sofa", sofa((1.6, 0, -2.2), 180, CLOTH.tint(0.7, 1.1, 0.7)), 0),
        thing("crates", crates((2.2, 0, -0.6), 3), 6),
    ]
    stripes = Texture("stripes")
    subject = Subject(
        "a striped beach ball", ("red, white, blue, yellow and green stripes",), _ball, (-0.42, 0.0, 0.35),
        {stripes: Texture("moon").tint(1.3, 0.75, 0.3)}, teleport=(0.95, 0.0, 0.0), twin=(0.85, 0.0, 0.15),
    )  # fmt: skip
    events = {
        "none": Event("none", "roll", "the ball lies still", "the ball is full, on the left"),
        "spatial": Event("spatial", "roll", "the ball rolls away to the right", "the ball is full, on the right", (0.9, 0, 0)),
        "state": Event("state", "roll", "the ball loses its air on the spot", "the ball has shrunk, on the left"),
        "full": Event(
            "full", "roll", "the ball rolls to the right and loses its air", "the ball has shrunk, on the right", (0.9, 0, 0)
        ),
    }
    return Scene("playroom", "object", "a playroom", False, subject, tuple(things), (0.0, -0.56, -1.5), events)


def _motorcycle(state: float, _moved: Vector) -> Shape:
    width = 1.55
    height = width * 382 / 591
    lean = turn_z(-8 * state)
    bike = board(width, height, Texture("cutout:motorcycle"), cutout=True).moved((0, 0, 0), lean)
    return bike + floor_patch(1.9, 0.7, _SHADOW, strength=1.0)


def garage() -> Scene:
    things = [
        *room_things(
            (6.0, 2.8, 6.0),
            [Texture("brick"), Texture("metal").edit("tiled", 3, 2), Texture("tiles"), Texture("brick").tint(0.9, 0.9, 1.0)],
            Texture("gravel"),
        ),
        thing("crates left", crates((-1.9, 0, 2.2), 4, 0.55), 3),
        thing("crates right", crates((1.7, 0, 2.3), 3, 0.6), 2),
        thing("bench", box((1.6, 0.85, 0.5), WOOD, centre=(0, 0, 2.6)), 5),
        picture("coins", Texture("coins"), 1.1, 0.85, (0.0, -1.6, 2.99), 0),
        picture("page", Texture("page"), 1.3, 0.75, (-1.7, -1.9, 2.99), 0),
        picture("pagoda", Texture("pagoda"), 1.5, 1.0, (2.99, -1.3, 0.5), 90),
        thing("shelf right", shelf((2.75, 0, -1.2), 90, 1.6), 6),
        picture("galaxies", Texture("galaxies"), 1.5, 1.2, (-2.99, -1.3, 0.4), 270),
        thing("shelf left", shelf((-2.75, 0, -1.4), 270, 1.6), 6),
        thing("sofa", sofa((0.0, 0, -2.5), 180), 0),
        thing("crates back", crates((1.9, 0, -2.3), 4, 0.5), 1),
    ]
    bike = Texture("cutout:motorcycle")
    subject = Subject(
        "a red motorcycle", ("red tank", "black seat", "chrome engine"), _motorcycle, (-0.15, 0.0, 0.95),
        {bike: bike.edit("hue", 200.0, 1.2)}, teleport=(0.6, -0.55, 0.0), twin=(0.7, 0.0, 0.8),
    )  # fmt: skip
    events = {
        "none": Event("none", "roll", "the motorcycle stands still", "the motorcycle stands on the left"),
        "spatial": Event("spatial", "roll", "the motorcycle rolls forward", "the motorcycle stands on the right", (0.5, 0, 0)),
    }
    return Scene("garage", "object", "a garage", False, subject, tuple(things), (0.0, -0.75, -1.7), events)


def _globe(state: float, _moved: Vector) -> Shape:
    pedestal = box((0.5, 0.85, 0.5), Texture("checker"), top=PLASTER)
    stand = frustum(0.12, 0.05, 0.1, Texture("metal").tint(1.1, 0.9, 0.5), foot=(0, -0.85, 0))
    globe = ball(0.36, Texture("moon").edit("tiled", 2, 1).tint(1.25, 1.2, 1.05), (0, -1.28, 0), turn_z(23 + 80 * state))
    return pedestal + stand + globe + floor_patch(1.0, 0.9, _SHADOW)


def gallery() -> Scene:
    walls = [PLASTER, PLASTER.tint(0.9, 0.75, 0.7), Texture("brick").tint(1.1, 1.15, 1.2), PLASTER.tint(0.85, 0.9, 0.75)]
    hung = [
        ("astronaut", -2.0, 0),
        ("rocket", 0.0, 0),
        ("pagoda", 2.0, 0),
        ("flower", 2.0, 90),
        ("galaxies", 0.0, 90),
        ("retina", -2.0, 90),
    ]
    hung += [
        ("cat", 2.0, 180),
        ("motorcycle", 0.0, 180),
        ("coffee", -2.0, 180),
        ("tissue", -2.0, 270),
        ("coins", 0.0, 270),
        ("cameraman", 2.0, 270),
    ]
    where = {
        0: lambda a: (a, -1.55, 4.19),
        90: lambda a: (3.49, -1.55, a),
        180: lambda a: (a, -1.55, -4.19),
        270: lambda a: (-3.49, -1.55, a),
    }
    things = [
        *room_things((7.0, 3.2, 8.4), walls, WOOD),
        *(picture(name, Texture(name), 1.5, 1.2, where[facing](along), facing) for name, along, facing in hung),
        thing("bench", box((1.6, 0.45, 0.5), CLOTH.tint(0.6, 0.6, 0.9), centre=(2.2, 0, 1.6)), 0),
        thing("bench left", box((1.6, 0.45, 0.5), CLOTH.tint(1.0, 0.6, 0.6), centre=(-2.3, 0, 1.2)), 2),
        thing("case", box((0.7, 1.0, 0.7), Texture("metal"), top=Texture("coins"), centre=(-2.2, 0, -1.9)), 3),
        thing("case right", box((0.7, 1.0, 0.7), Texture("metal"), top=Texture("page"), centre=(2.3, 0, -1.6)), 3),
    ]
    moon = Texture("moon").edit("tiled", 2, 1).tint(1.25, 1.2, 1.05)
    subject = Subject(
        "a globe of the moon on a pedestal", ("grey craters", "checkered pedestal"), _globe, (-0.4, 0.0, 0.4),
        {moon: Texture("flower").edit("tiled", 2, 1)}, teleport=(1.3, 0.0, 0.0), twin=(1.1, 0.0, 0.2),
    )  # fmt: skip
    events = {
        "none": Event("none", "turn", "the globe stands still", "the globe is on the left, unturned"),
        "spatial": Event(
            "spatial", "turn", "the globe is wheeled to the right", "the globe is on the right, unturned", (0.7, 0, 0)
        ),
    }
    return Scene("gallery", "environment", "a gallery", False, subject, tuple(things), (0.0, -1.1, -2.9), events)
