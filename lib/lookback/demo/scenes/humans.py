"""Scenes with a person: a study, an office, a lobby. The person stands behind a counter and may walk aside, sit down, or both."""

from __future__ import annotations

from lookback.demo.geometry import Shape, Vector, board, box
from lookback.demo.props import CLOTH, PLASTER, WOOD, crates, picture, room_things, shelf, sofa, table, thing
from lookback.demo.scene import Event, Scene, Subject, Thing
from lookback.demo.textures import Texture

ASTRONAUT, HOPPER = Texture("portrait:astronaut"), Texture("portrait:hopper")
_HEIGHT = 0.62  # of the portrait, metres
_COUNTER = 1.2


def _person(texture: Texture) -> Subject:
    def build(state: float, _moved: Vector) -> Shape:
        return board(_HEIGHT * 500 / 480, _HEIGHT, texture, (0, 0.28 * state, 0), cutout=True)

    first, second = ("an astronaut in an orange suit", "an officer in a dark uniform")
    name = first if texture == ASTRONAUT else second
    other = HOPPER if texture == ASTRONAUT else ASTRONAUT
    return Subject(
        name=name,
        attributes=("orange suit", "short hair") if texture == ASTRONAUT else ("dark uniform", "white cap", "glasses"),
        build=build,
        place=(-0.12, -_COUNTER + 0.05, 0.15),
        other_identity={texture: other},
        teleport=(0.42, 0.0, 0.0),
        twin=(0.62, 0.0, 0.12),
    )


def _events(name: str) -> dict[str, Event]:
    short = name.split(" in ")[0]
    the = short.replace("an ", "the ", 1)
    return {
        "none": Event("none", "sit", f"{the} stays standing behind the counter", f"{the} stands behind the counter"),
        "spatial": Event(
            "spatial", "sit", f"{the} steps to the right", f"{the} stands at the right end of the counter", (0.36, 0, 0)
        ),
        "state": Event("state", "sit", f"{the} sits down on the spot", f"{the} sits behind the counter, only the head above it"),
        "full": Event(
            "full", "sit", f"{the} steps to the right and sits down", f"{the} sits at the right end of the counter", (0.36, 0, 0)
        ),
    }


def study() -> Scene:
    subject = _person(ASTRONAUT)
    things = [
        *room_things(
            (4.6, 2.7, 4.6),
            [
                Texture("bookshelf"),
                Texture("wallpaper"),
                Texture("tiles").edit("hue", 20.0),
                Texture("wallpaper").edit("hue", 25.0),
            ],
            WOOD,
        ),
        thing("counter", table((2.6, _COUNTER, 0.3), (0, 0, -0.12), side=WOOD.tint(0.85, 0.8, 0.75)), 1),
        picture("galaxies", Texture("galaxies"), 1.3, 1.0, (2.29, -1.5, 0.4), 90),
        picture("moon", Texture("moon"), 0.9, 0.9, (2.29, -1.45, -1.3), 90),
        picture("rocket", Texture("rocket"), 1.4, 1.0, (-2.29, -1.5, 0.3), 270),
        picture("pagoda", Texture("pagoda"), 1.2, 0.9, (-2.29, -1.45, -1.4), 270),
        picture("cameraman", Texture("cameraman"), 1.1, 1.1, (0.5, -1.5, -2.29), 180),
        thing("sofa", sofa((-0.7, 0, -1.8), 180, CLOTH.tint(0.7, 0.9, 1.1)), 0),
        thing("bookcase", shelf((1.5, 0, -2.0), 180), 3),
        thing("screen", box((0.42, 0.3, 0.05), Texture("metal"), front=Texture("screen"), centre=(0.62, -_COUNTER, -0.08)), 6),
        thing("crates", crates((1.9, 0, 1.5), 4), 3),
    ]
    return Scene("study", "human", "a study", False, subject, tuple(things), (0.0, -1.48, -1.0), _events(subject.name))


def office() -> Scene:
    subject = _person(HOPPER)
    brick = Texture("brick")
    things: list[Thing] = [
        *room_things(
            (5.0, 2.8, 5.0), [brick, PLASTER.tint(0.8, 0.95, 0.85), brick.tint(1.1, 1.1, 1.0), PLASTER], Texture("checker")
        ),
        thing(
            "counter",
            table((3.0, _COUNTER, 0.3), (0, 0, -0.12), top=Texture("metal"), side=Texture("metal").tint(0.6, 0.75, 0.9)),
            1,
        ),
        picture("pagoda", Texture("pagoda"), 1.3, 0.95, (-1.2, -1.75, 2.49), 0),
        picture("coffee", Texture("coffee"), 1.3, 0.9, (1.0, -1.75, 2.49), 0),
        picture("coins", Texture("coins"), 1.3, 1.0, (2.49, -1.5, 0.2), 90),
        picture("flower", Texture("flower"), 1.1, 0.8, (2.49, -1.4, -1.5), 90),
        picture("page", Texture("page"), 1.4, 0.8, (-2.49, -1.5, 0.3), 270),
        picture("cat", Texture("cat"), 1.2, 0.85, (-2.49, -1.4, -1.4), 270),
        thing("bookcase", shelf((-1.9, 0, -2.2), 180), 3),
        thing("sofa", sofa((1.0, 0, -2.0), 180, CLOTH.tint(1.2, 0.8, 0.7)), 0),
        thing("crates", crates((-2.0, 0, 1.9), 4), 3),
    ]
    return Scene("office", "human", "an office", False, subject, tuple(things), (0.0, -1.48, -1.0), _events(subject.name))


def lobby() -> Scene:
    subject = _person(ASTRONAUT)
    marble = PLASTER.tint(1.05, 0.98, 0.85)
    things: list[Thing] = [
        *room_things(
            (5.4, 2.9, 5.0),
            [marble, Texture("tiles").edit("hue", 150.0), Texture("brick").tint(0.9, 0.9, 1.1), marble],
            Texture("carpet"),
        ),
        thing("counter", table((2.8, _COUNTER, 0.3), (0, 0, -0.12), top=WOOD, side=Texture("cardboard")), 1),
        picture("retina", Texture("retina"), 1.1, 1.1, (-1.3, -1.75, 2.49), 0),
        picture("flower", Texture("flower"), 1.3, 0.9, (1.1, -1.75, 2.49), 0),
        picture("moon", Texture("moon"), 1.1, 1.1, (2.69, -1.5, 0.3), 90),
        picture("cat", Texture("cat"), 1.2, 0.85, (2.69, -1.4, -1.5), 90),
        picture("coins", Texture("coins"), 1.3, 1.0, (-2.69, -1.5, 0.2), 270),
        picture("galaxies", Texture("galaxies"), 1.2, 0.9, (-2.69, -1.4, -1.5), 270),
        thing("sofa", sofa((-1.1, 0, -2.0), 180, CLOTH.tint(0.8, 1.1, 0.8)), 0),
        thing("bookcase", shelf((1.7, 0, -2.2), 180), 3),
        thing("crates", crates((2.1, 0, 1.8), 3), 3),
    ]
    return Scene("lobby", "human", "a lobby", False, subject, tuple(things), (0.0, -1.48, -1.0), _events(subject.name))
