"""The geometry of the world: textured quads, round bodies, decals and glows, and shapes built from them.

World axes are OpenCV's: x right, y down, z forward; the floor is y = 0 and up is negative y. Lengths are metres.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.demo.textures import Texture

Vector = NDArray[np.float64]
TextureChange = Callable[[Texture], Texture]


def vector(values: ArrayLike) -> Vector:
    return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Quad:
    """origin + u edge_u + v edge_v with u, v in [0,1]; (u, v) = (0, 0) is the texture's upper left corner.

    It is seen from the side where the texture is not mirrored. `cutout` uses the texture's alpha as outline.
    """

    origin: Vector
    edge_u: Vector
    edge_v: Vector
    texture: Texture
    cutout: bool = False
    repeat: tuple[float, float] = (1.0, 1.0)
    two_sided: bool = False

    @cached_property
    def outward(self) -> tuple[float, float, float]:
        """Unit normal towards the side that is seen."""
        a, b = self.edge_v, self.edge_u
        cross = np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
        x, y, z = np.round(cross / np.linalg.norm(cross), 6)
        return float(x), float(y), float(z)

    @cached_property
    def frame(self) -> NDArray[np.float64]:
        """Rows edge_u, edge_v, origin."""
        return np.array([self.edge_u, self.edge_v, self.origin])

    @property
    def repeats(self) -> bool:
        return self.repeat != (1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Round:
    """A body of revolution: a sphere of `radius`, or a frustum from `radius` at its foot to `radius_top` at `height`.

    `rotation` and `position` place it; its own axis points up (-y) from the foot. A sphere's position is its centre.
    """

    position: Vector
    rotation: NDArray[np.float64]
    radius: float
    texture: Texture
    radius_top: float = 0.0
    height: float = 0.0  # 0 means a sphere
    cap: Texture | None = None  # top disc of a frustum; None leaves the side's texture


@dataclass(frozen=True, eq=False)
class Decal:
    """A patch with alpha that lies on a surface and colours only what is at its own depth."""

    quad: Quad
    strength: float = 1.0


@dataclass(frozen=True, eq=False)
class Glow:
    """Light seen as a soft disc of `radius` metres around a point."""

    position: Vector
    radius: float
    colour: tuple[float, float, float]


@dataclass(frozen=True)
class Shape:
    """Primitives that move together."""

    quads: tuple[Quad, ...] = ()
    rounds: tuple[Round, ...] = ()
    decals: tuple[Decal, ...] = ()
    glows: tuple[Glow, ...] = field(default=())

    def __add__(self, other: Shape) -> Shape:
        return Shape(self.quads + other.quads, self.rounds + other.rounds, self.decals + other.decals, self.glows + other.glows)

    def moved(self, offset: ArrayLike = (0.0, 0.0, 0.0), rotation: ArrayLike | None = None) -> Shape:
        """Rotated about the origin, then shifted."""
        turn = np.eye(3) if rotation is None else vector(rotation)
        shift = vector(offset)

        def move(quad: Quad) -> Quad:
            return replace(quad, origin=turn @ quad.origin + shift, edge_u=turn @ quad.edge_u, edge_v=turn @ quad.edge_v)

        return Shape(
            tuple(move(quad) for quad in self.quads),
            tuple(replace(item, position=turn @ item.position + shift, rotation=turn @ item.rotation) for item in self.rounds),
            tuple(replace(decal, quad=move(decal.quad)) for decal in self.decals),
            tuple(replace(glow, position=turn @ glow.position + shift) for glow in self.glows),
        )

    def retextured(self, change: TextureChange) -> Shape:
        """Every surface's texture passed through `change`; decals and glows keep theirs."""
        return Shape(
            tuple(replace(quad, texture=change(quad.texture)) for quad in self.quads),
            tuple(
                replace(item, texture=change(item.texture), cap=None if item.cap is None else change(item.cap))
                for item in self.rounds
            ),
            self.decals,
            self.glows,
        )

    def solid(self) -> Shape:
        """The shape without decals and glows, which have no depth of their own."""
        return Shape(self.quads, self.rounds)

    def points(self) -> Vector:
        """(N,3) points that span the shape: corners of quads, boxes around round bodies."""
        corners = [quad.origin + u * quad.edge_u + v * quad.edge_v for quad in self.quads for u in (0, 1) for v in (0, 1)]
        for item in self.rounds:
            reach = max(item.radius, item.radius_top)
            low, high = (-item.height, 0.0) if item.height else (-reach, reach)
            corners += [
                item.position + item.rotation @ np.array([x, y, z])
                for x in (-reach, reach)
                for y in (low, high)
                for z in (-reach, reach)
            ]
        return np.array(corners).reshape(-1, 3)


def turn_y(degrees: float) -> NDArray[np.float64]:
    """Rotation about the vertical; positive turns the front (-z side) to the left as seen from above with z up the page."""
    angle = np.radians(degrees)
    return np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])


def turn_z(degrees: float) -> NDArray[np.float64]:
    """Rotation about the viewing direction; positive tips to the right."""
    angle = np.radians(degrees)
    return np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])


def board(width: float, height: float, texture: Texture, centre: ArrayLike = (0.0, 0.0, 0.0), cutout: bool = False) -> Shape:
    """An upright picture facing -z (towards a camera that looks along +z); `centre` is the middle of its foot."""
    x, y, z = vector(centre)
    quad = Quad(
        vector([x - width / 2, y - height, z]), vector([width, 0, 0]), vector([0, height, 0]), texture, cutout, two_sided=cutout
    )
    return Shape((quad,))


def box(
    size: Sequence[float],
    side: Texture,
    top: Texture | None = None,
    front: Texture | None = None,
    centre: ArrayLike = (0.0, 0.0, 0.0),
) -> Shape:
    """A block of (width, height, depth); `centre` is the middle of its foot. Faces are seen from outside; there is no bottom."""
    width, height, depth = size
    x, y, z = vector(centre) - np.array([width / 2, 0, depth / 2])
    right, down, back = vector([width, 0, 0]), vector([0, height, 0]), vector([0, 0, depth])
    upper = y - height
    return Shape(
        (
            Quad(vector([x, upper, z]), right, down, front or side),
            Quad(vector([x + width, upper, z + depth]), -right, down, side),
            Quad(vector([x, upper, z + depth]), -back, down, side),
            Quad(vector([x + width, upper, z]), back, down, side),
            Quad(vector([x, upper, z + depth]), right, -back, top or side),
        )
    )


def room(size: Sequence[float], walls: Sequence[Texture], floor: Texture, ceiling: Texture) -> tuple[Shape, ...]:
    """The inside of a block around the origin: front (+z), right, back, left walls, floor, ceiling, one shape each."""
    width, height, depth = size
    x, z = width / 2, depth / 2
    right, back, down = vector([width, 0, 0]), vector([0, 0, depth]), vector([0, height, 0])
    corners = ([-x, -height, z], [x, -height, z], [x, -height, -z], [-x, -height, -z])
    edges = (right, -back, -right, back)
    sides = tuple(
        Shape((Quad(vector(corner), edge, down, texture),)) for corner, edge, texture in zip(corners, edges, walls, strict=True)
    )
    ground = Shape((Quad(vector([-x, 0, z]), right, -back, floor),))
    cover = Shape((Quad(vector([-x, -height, -z]), right, back, ceiling),))
    return (*sides, ground, cover)


def floor_patch(width: float, depth: float, texture: Texture, centre: ArrayLike = (0.0, 0.0, 0.0), strength: float = 1.0) -> Shape:
    """A decal on a horizontal surface (shadow, puddle, spill), centred on `centre`."""
    x, y, z = vector(centre)
    quad = Quad(vector([x - width / 2, y, z + depth / 2]), vector([width, 0, 0]), vector([0, 0, -depth]), texture)
    return Shape(decals=(Decal(quad, strength),))


def ball(radius: float, texture: Texture, centre: ArrayLike = (0.0, 0.0, 0.0), rotation: ArrayLike | None = None) -> Shape:
    turn = np.eye(3) if rotation is None else vector(rotation)
    return Shape(rounds=(Round(vector(centre), turn, radius, texture),))


def frustum(
    radius: float,
    radius_top: float,
    height: float,
    texture: Texture,
    cap: Texture | None = None,
    foot: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike | None = None,
) -> Shape:
    """A cylinder, cup or cone standing on `foot`."""
    turn = np.eye(3) if rotation is None else vector(rotation)
    return Shape(rounds=(Round(vector(foot), turn, radius, texture, radius_top, height, cap),))
