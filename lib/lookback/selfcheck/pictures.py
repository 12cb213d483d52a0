"""Render pictures with whole numbers only, so that every machine makes the same bytes.

The scene is a room with textured walls and a box. The camera turns and moves. A turn is a Pythagorean triple (cosine c/n, sine
s/n), a position is in millimetres, and rays meet walls by integer division. So no rounding of a processor can change a pixel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Picture = NDArray[np.uint8]

WIDTH, HEIGHT = 256, 144
FOCAL = 220  # pixels
HALF_ROOM, HALF_HEIGHT = 3000, 1500  # millimetres from the centre to a wall, and to floor and ceiling
BOX = ((-300, 300), (0, 700), (1500, 2100))  # limits of x, y (down) and z, in millimetres
TEXELS = 512  # side of a texture
BITS = 24  # of the fixed-point length of a ray
NEVER = np.int64(2) ** 60
TURN_STEPS = 240  # a turn of k steps has tan(angle / 2) = k / 240
BOX_FACE = 6  # the first texture of the box


@dataclass(frozen=True)
class View:
    """The camera of one frame: a turn to the right in steps, and a position in millimetres (x right, y down, z forward)."""

    steps: int
    place: tuple[int, int, int] = (0, 0, 0)

    @property
    def triple(self) -> tuple[int, int, int]:
        """(c, s, n) with c^2 + s^2 = n^2."""
        return TURN_STEPS**2 - self.steps**2, 2 * self.steps * TURN_STEPS, TURN_STEPS**2 + self.steps**2

    def c2w(self) -> NDArray[np.float64]:
        """The pose in metres, OpenCV axes."""
        c, s, n = self.triple
        pose = np.eye(4)
        pose[:3, :3] = np.array([[c, 0, s], [0, n, 0], [-s, 0, c]]) / n
        pose[:3, 3] = np.array(self.place) / 1000
        return pose


def intrinsics() -> NDArray[np.float64]:
    """Focal length and centre in pixels."""
    return np.array([[FOCAL, 0, (WIDTH - 1) / 2], [0, FOCAL, (HEIGHT - 1) / 2], [0, 0, 1]])


def scramble(values: Whole, seed: int) -> Whole:
    """Pseudo-random whole numbers in [0, 255], from a hash with 32-bit multiplications."""
    word = np.uint64(2**32 - 1)
    mixed = (values.astype(np.uint64) * np.uint64(2654435761) + np.uint64(seed * 40503 + 12345)) & word
    for factor in (np.uint64(2246822519), np.uint64(3266489917)):
        mixed = ((mixed ^ (mixed >> np.uint64(15))) * factor) & word
    return (mixed >> np.uint64(24)).astype(np.int64)


def texture(seed: int) -> Whole:
    """A square colour texture (TEXELS, TEXELS, 3): the sum of random grids of several sizes, each enlarged linearly."""
    total = np.zeros((TEXELS, TEXELS, 3), np.int64)
    for octave, (cells, weight) in enumerate(((8, 6), (32, 5), (64, 3), (128, 2))):
        grid = scramble(np.arange(cells * cells * 3), seed * 7 + octave).reshape(cells, cells, 3)
        step = TEXELS // cells
        place, rest = np.divmod(np.arange(TEXELS), step)
        after = (place + 1) % cells
        rows = grid[place] * (step - rest)[:, None, None] + grid[after] * rest[:, None, None]
        total += weight * (rows[:, place] * (step - rest)[:, None] + rows[:, after] * rest[:, None]) // step**2
    return np.clip(128 + (total // 16 - 128) * 5 // 2, 0, 255)


@cache
def _textures() -> list[NDArray[np.uint16]]:
    """Six walls in full colour, then the three sides of the box in reds, so that it stands out. They are painted once.

    Each is a list of texels (TEXELS * TEXELS, 3).
    """
    walls = [texture(seed) for seed in range(1, BOX_FACE + 1)]
    share, red = np.array([2, 3, 4]), np.array([128, 0, 0])
    sides: list[Whole] = [texture(BOX_FACE + number) // share + red for number in (1, 2, 3)]
    return [painted.reshape(-1, 3).astype(np.uint16) for painted in walls + sides]


class Room:
    """The scene; `look` renders one view of it."""

    def __init__(self, with_box: bool = True):
        self.textures = _textures()
        self.with_box = with_box
        x, y = np.meshgrid(2 * np.arange(WIDTH, dtype=np.int64) - (WIDTH - 1), 2 * np.arange(HEIGHT, dtype=np.int64) - (HEIGHT - 1))
        self.rays = np.stack([x, y, np.full_like(x, 2 * FOCAL)])

    def look(self, view: View) -> tuple[Picture, Whole]:
        """The frame, and its depth along the camera's axis in millimetres."""
        c, s, n = view.triple
        x, y, z = self.rays
        ray = np.stack([c * x + s * z, n * y, c * z - s * x])
        place = np.array(view.place, np.int64)[:, None, None]
        length, axis, ahead = _room_hit(ray, place)
        face = 2 * axis + ahead
        if self.with_box:
            near, side, hit = _box_hit(ray, place)
            hit &= near < length
            length, axis, face = np.where(hit, near, length), np.where(hit, side, axis), np.where(hit, BOX_FACE + side, face)
        points = place + ((ray * length) >> BITS)
        picture = self._paint(points, axis, face)
        depth = (2 * FOCAL * n * length) >> BITS  # the ray's z in the camera is 2 FOCAL n
        return picture, depth

    def _paint(self, points: Whole, axis: Whole, face: Whole) -> Picture:
        """The colours of the textures at the points, interpolated linearly between texels."""
        picture = np.empty((HEIGHT, WIDTH, 3), np.uint8)
        along = np.stack([np.where(axis == 0, points[2], points[0]), np.where(axis == 1, points[2], points[1])])
        for number in np.unique(face):
            here = face == number
            scale = 4 if number >= BOX_FACE else 1
            u, v = ((part[here] + HALF_ROOM) * TEXELS * 16 * scale // (2 * HALF_ROOM) for part in along)
            picture[here] = _linear(self.textures[number], u, v)
        return picture


def _linear(texels: NDArray[np.uint16], u: Whole, v: Whole) -> Picture:
    """Colours at (u, v) in sixteenths of a texel; the texture repeats. No sum is above 255 * 256, so it fits in 16 bits."""
    column, row = u // 16 % TEXELS, v // 16 % TEXELS
    next_column, next_row = (column + 1) % TEXELS, (row + 1) % TEXELS
    right, below = ((part % 16).astype(np.uint16)[:, None] for part in (u, v))
    upper, lower = (
        texels.take(TEXELS * line + column, axis=0) * (16 - right) + texels.take(TEXELS * line + next_column, axis=0) * right
        for line in (row, next_row)
    )
    return ((upper * (16 - below) + lower * below) // 256).astype(np.uint8)


def _room_hit(ray: Whole, place: Whole) -> tuple[Whole, Whole, Whole]:
    """(length, axis, side) of the first wall that each ray meets, from inside the room."""
    half = np.array([HALF_ROOM, HALF_HEIGHT, HALF_ROOM], np.int64)[:, None, None]
    ahead = (ray > 0).astype(np.int64)
    distance = np.where(ahead == 1, half - place, half + place)
    size = np.abs(ray)
    length = np.where(size > 0, (distance << BITS) // np.maximum(size, 1), NEVER)
    axis = length.argmin(axis=0)
    return np.take_along_axis(length, axis[None], 0)[0], axis, np.take_along_axis(ahead, axis[None], 0)[0]


def _box_hit(ray: Whole, place: Whole) -> tuple[Whole, Whole, NDArray[np.bool_]]:
    """(length, axis, whether it hits) of the point where each ray enters the box, from outside."""
    steps = np.where(ray == 0, 1, ray)
    bounds = np.array(BOX, np.int64)[:, :, None, None]
    ends = np.stack([((bounds[:, end] - place) << BITS) // steps for end in (0, 1)])
    enter, leave = ends.min(axis=0), ends.max(axis=0)
    axis = enter.argmax(axis=0)
    near = np.take_along_axis(enter, axis[None], 0)[0]
    return near, axis, (near > 0) & (near < leave.min(axis=0))
