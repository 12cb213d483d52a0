"""Outdoor scenes: a courtyard with a delivery robot, and a plaza with a cat house; both go on all around the camera."""

from __future__ import annotations

from lookback.demo.geometry import Glow, Shape, Vector, board, box, floor_patch, frustum, turn_y, turn_z, vector
from lookback.demo.light import Light
from lookback.demo.props import WOOD, crates, ground, sky_box, strip, thing
from lookback.demo.scene import Event, Scene, Subject, Thing
from lookback.demo.textures import Texture

_SHADOW = Texture("shadow")
_SUN = Light(ambient=(0.56, 0.58, 0.62), sun=(0.62, 0.58, 0.5), towards_sun=(-0.5, -0.7, -0.5))


def _house(
    name: str, size: tuple[float, float, float], place: tuple[float, float, float], turn: float, front: Texture, forgotten: int
) -> Thing:
    return thing(name, box(size, front, top=Texture("gravel")).moved(place, turn_y(turn)), forgotten)


def robot_shape(lowered: float = 0.0) -> Shape:
    """A delivery robot: wheels, a panelled body, a head with a lamp; `lowered` folds the body down."""
    body = 0.62 * (1 - 0.5 * lowered)
    metal = Texture("metal")
    out = box((0.5, body, 0.4), metal, top=metal.tint(0.8, 0.8, 0.85), centre=(0, -0.12, 0))
    out += box((0.3, 0.22, 0.26), metal.tint(0.7, 0.9, 1.15), front=Texture("screen"), centre=(0, -0.12 - body, 0))
    for x in (-0.2, 0.2):
        out += frustum(0.12, 0.12, 0.1, Texture("metal").tint(0.3, 0.3, 0.32), Texture("metal").tint(0.5, 0.5, 0.5)).moved(
            (x + 0.05, -0.12, 0), turn_z(-90)
        )
    lamp = Glow(vector([0, -0.12 - body - 0.27, 0]), 0.12, (40.0, 200.0, 90.0) if lowered < 0.5 else (230.0, 60.0, 30.0))
    return out + floor_patch(0.9, 0.75, _SHADOW) + Shape(glows=(lamp,))


def _robot(state: float, _moved: Vector) -> Shape:
    return robot_shape(state)


def courtyard() -> Scene:
    facade, brick = Texture("facade"), Texture("brick")
    things = [
        *sky_box(),
        ground(Texture("grass")),
        strip("path", Texture("gravel"), (3.2, 40.0), (0.4, -0.012, 0.0), 2.0, 3),
        _house("house ahead", (9.0, 7.0, 5.0), (-2.5, 0, 13.0), 4.0, facade, 4),
        _house("house right", (10.0, 8.0, 6.0), (12.5, 0, 5.0), 80.0, facade.tint(0.9, 1.0, 1.1), 0),
        _house("house left", (10.0, 6.5, 6.0), (-12.0, 0, 2.0), -86.0, facade.edit("hue", 20.0), 3),
        _house("house behind", (12.0, 7.0, 6.0), (3.0, 0, -12.0), 176.0, facade.tint(1.1, 1.0, 0.85), 7),
        _house("wall right", (0.4, 1.1, 14.0), (4.2, 0, 4.0), 0.0, brick, 2),
        _house("wall left", (0.4, 1.1, 14.0), (-4.6, 0, 1.0), 0.0, brick.tint(1.1, 1.05, 1.0), 6),
        thing("crates", crates((2.4, 0, 4.4), 3, 0.7), 1),
        thing("bench", box((1.6, 0.45, 0.5), WOOD).moved((-2.6, 0, 3.6), turn_y(25)), 0),
        thing("planter", box((0.9, 0.7, 0.9), Texture("flower"), top=Texture("grass"), centre=(2.9, 0, 0.6)), 5),
        thing(
            "planter left",
            box((0.9, 0.7, 0.9), Texture("flower").edit("hue", 60.0), top=Texture("grass"), centre=(-3.1, 0, -0.6)),
            5,
        ),
        thing("board", board(1.8, 1.3, Texture("pagoda").edit("framed", 40, 40, 44)).moved((-1.5, -0.5, -6.0), turn_y(180)), 3),
        thing("crates behind", crates((2.2, 0, -4.0), 3, 0.7), 2),
    ]
    metal = Texture("metal")
    subject = Subject(
        "a delivery robot", ("steel panels", "yellow stripe", "screen face"), _robot, (-0.5, 0.0, 1.3),
        {metal: Texture("cardboard"), metal.tint(0.7, 0.9, 1.15): Texture("cardboard"), Texture("screen"): Texture("cat")},
        teleport=(1.3, 0.0, 0.0), twin=(0.95, 0.0, 0.3),
    )  # fmt: skip
    events = {
        "none": Event("none", "fold", "the robot waits", "the robot is upright, on the left"),
        "spatial": Event("spatial", "fold", "the robot drives to the right", "the robot is upright, on the right", (1.0, 0, 0)),
        "state": Event("state", "fold", "the robot folds down on the spot", "the robot is folded down, on the left"),
        "full": Event(
            "full", "fold", "the robot drives to the right and folds down", "the robot is folded down, on the right", (1.0, 0, 0)
        ),
    }
    return Scene("courtyard", "environment", "a courtyard", True, subject, tuple(things), (0.0, -0.85, -1.4), events, _SUN)


def _cat(state: float, _moved: Vector) -> Shape:
    house = box((0.8, 0.66, 0.55), WOOD, top=WOOD.tint(0.8, 0.6, 0.5), front=Texture("cat_house"))
    roof = box((0.92, 0.07, 0.7), WOOD.tint(0.7, 0.35, 0.3), centre=(0, -0.66, 0))
    return (house + roof).moved((0, 0, 0), turn_z(6 * state)) + floor_patch(1.3, 1.0, _SHADOW)


def plaza() -> Scene:
    facade = Texture("facade")
    things = [
        *sky_box(),
        ground(Texture("gravel"), tile=3.0),
        thing("pagoda", board(13.0, 8.9, Texture("pagoda").edit("framed", 60, 44, 30), (-2.0, -0.6, 15.0)), 4),
        _house("house right", (9.0, 7.5, 6.0), (11.5, 0, 6.0), 75.0, facade, 0),
        _house("house left", (9.0, 6.5, 6.0), (-13.0, 0, 3.0), -80.0, facade.tint(0.95, 1.05, 1.1), 3),
        _house("house behind", (12.0, 7.0, 6.0), (-2.0, 0, -12.0), 184.0, facade.edit("hue", 30.0), 7),
        strip("lawn", Texture("grass"), (6.0, 5.0), (4.5, -0.02, 5.5), 2.0, 1),
        thing("planter", box((1.2, 0.8, 0.8), Texture("flower"), top=Texture("grass"), centre=(1.9, 0, 2.6)), 2),
        thing("crates", crates((-2.0, 0, 2.8), 4, 0.6), 6),
        thing("wall", box((7.0, 1.0, 0.4), Texture("brick").edit("tiled", 3, 1)).moved((-0.5, 0, 6.0), turn_y(3)), 7),
        thing(
            "planter left",
            box((0.9, 0.7, 0.9), Texture("flower").edit("hue", 90.0), top=Texture("grass"), centre=(-3.2, 0, -0.5)),
            5,
        ),
        thing("crates right", crates((3.0, 0, -0.4), 3, 0.7), 0),
        thing("stall", box((1.6, 1.1, 0.8), Texture("coffee"), top=WOOD).moved((0.6, 0, -4.2), turn_y(170)), 3),
    ]
    subject = Subject(
        "a cat in a wooden cat house", ("tabby cat", "round door", "red roof"), _cat, (-0.35, 0.0, 1.0),
        {Texture("cat_house"): Texture("flower"), WOOD: Texture("metal")},
        teleport=(0.95, 0.0, 0.0), twin=(1.0, 0.0, 0.3),
    )  # fmt: skip
    events = {
        "none": Event("none", "place", "the cat house stays in its place", "the cat house is on the left"),
        "spatial": Event("spatial", "place", "the cat house is moved to the right", "the cat house is on the right", (0.75, 0, 0)),
    }
    return Scene("plaza", "object", "a plaza", True, subject, tuple(things), (0.0, -0.7, -1.3), events, _SUN)
