"""Furniture and other objects that scenes share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from numpy.typing import ArrayLike

from lookback.demo.geometry import Quad, Shape, box, floor_patch, room, turn_y, vector
from lookback.demo.scene import Thing
from lookback.demo.textures import Texture

WOOD, PLASTER, CLOTH, CARDBOARD = Texture("wood"), Texture("plaster"), Texture("cloth"), Texture("cardboard")

# the texture that a forgetful model paints instead
FORGOTTEN: tuple[Texture, ...] = (
    Texture("tiles"),
    Texture("brick"),
    Texture("tissue"),
    Texture("checker"),
    Texture("wallpaper").edit("hue", 150.0),
    Texture("gravel"),
    Texture("pagoda"),
    Texture("metal"),
)


def thing(name: str, shape: Shape, forgotten: int) -> Thing:
    """An object whose textures are replaced when the background is hallucinated."""
    used = {quad.texture for quad in shape.quads} | {body.texture for body in shape.rounds}
    other = FORGOTTEN[forgotten % len(FORGOTTEN)]
    if other in used:
        other = FORGOTTEN[(forgotten + 1) % len(FORGOTTEN)]
    return Thing(name, shape, dict.fromkeys(used, other))


def room_things(size: Sequence[float], walls: Sequence[Texture], floor: Texture) -> list[Thing]:
    """Four walls, floor and ceiling with darkened corners; the wall behind the camera is near, so its pattern is finer."""
    front, right, back, left = walls
    shaded = [wall.edit("shade_edges", 0.35) for wall in (front, right)] + [back, left.edit("shade_edges", 0.35)]
    shapes = list(room(size, shaded, floor.edit("shade_edges", 0.45), Texture("ceiling")))
    shapes[2] = Shape((replace(shapes[2].quads[0], repeat=(2.0, 2.0)),))
    names = ("front wall", "right wall", "back wall", "left wall", "floor", "ceiling")
    return [thing(name, shape, index) for index, (name, shape) in enumerate(zip(names, shapes, strict=True))]


def picture(name: str, photo: Texture, width: float, height: float, centre: ArrayLike, facing: float) -> Thing:
    """A framed picture on a wall; `facing` 0 looks towards -z (a front wall), 90 hangs on the right wall, 180 back, 270 left."""
    framed = photo.edit("framed", 74, 46, 26)
    quad = Quad(vector([-width / 2, -height / 2, -0.02]), vector([width, 0, 0]), vector([0, height, 0]), framed)
    return thing(name, Shape((quad,)).moved(centre, turn_y(facing)), 2)


def table(size: Sequence[float], centre: ArrayLike, top: Texture = WOOD, side: Texture = WOOD) -> Shape:
    """A solid counter or table block with its shadow."""
    block = box(size, side, top=top)
    shadow = floor_patch(size[0] * 1.3, size[2] * 1.5, Texture("shadow"), strength=0.8)
    return (block + shadow).moved(centre)


def sofa(centre: ArrayLike, facing: float, cloth: Texture = CLOTH) -> Shape:
    """Seat, back and two arms; facing 0 looks towards -z."""
    parts = (
        box((1.5, 0.42, 0.7), cloth)
        + box((1.5, 0.9, 0.22), cloth, centre=(0, 0, 0.4))
        + box((0.2, 0.62, 0.8), cloth.tint(0.9, 0.9, 0.9), centre=(-0.8, 0, 0.05))
        + box((0.2, 0.62, 0.8), cloth.tint(0.9, 0.9, 0.9), centre=(0.8, 0, 0.05))
        + floor_patch(2.4, 1.6, Texture("shadow"), strength=0.8)
    )
    return parts.moved(centre, turn_y(facing))


def crates(centre: ArrayLike, count: int, size: float = 0.4, texture: Texture = CARDBOARD) -> Shape:
    """A stack of boxes, each turned a little."""
    out = floor_patch(size * 2, size * 2, Texture("shadow"), strength=0.8)
    for index in range(count):
        scale = size * (1 - 0.12 * index)
        out += box((scale, scale, scale), texture).moved(
            (0.05 * (-1) ** index, -sum(size * (1 - 0.12 * i) for i in range(index)), 0), turn_y(17 * index)
        )
    return out.moved(centre)


def shelf(centre: ArrayLike, facing: float, width: float = 1.6, height: float = 2.0) -> Shape:
    """A bookcase."""
    case = box((width, height, 0.32), WOOD.tint(0.6, 0.55, 0.5), front=Texture("bookshelf"))
    return (case + floor_patch(width * 1.2, 1.0, Texture("shadow"), strength=0.7)).moved(centre, turn_y(facing))


def sky_box(reach: float = 60.0) -> list[Thing]:
    """Four sides of sky with hills, and the zenith."""
    sides = [
        Texture("sky"),
        Texture("sky").tint(0.97, 0.98, 1.0),
        Texture("sky").tint(1.02, 1.0, 0.97),
        Texture("sky").tint(0.99, 1.0, 1.02),
    ]
    shapes = room((2 * reach, reach, 2 * reach), sides, Texture("grass"), Texture("sky_top"))
    lowered = [shape.moved((0, reach * 0.13, 0)) for shape in shapes[:4]] + [shapes[5]]
    return [Thing(f"sky {index}", shape) for index, shape in enumerate(lowered)]


def strip(name: str, texture: Texture, size: tuple[float, float], centre: ArrayLike, tile: float, forgotten: int) -> Thing:
    """A flat patch of tiled ground of (width, depth)."""
    width, depth = size
    corner = vector(centre) + vector([-width / 2, 0, depth / 2])
    quad = Quad(corner, vector([width, 0, 0]), vector([0, 0, -depth]), texture, repeat=(width / tile, depth / tile))
    return thing(name, Shape((quad,)), forgotten)


def ground(texture: Texture, size: float = 120.0, tile: float = 4.0) -> Thing:
    """The open ground, tiled."""
    return strip("ground", texture, (size, size), (0, 0, 0), tile, 5)
