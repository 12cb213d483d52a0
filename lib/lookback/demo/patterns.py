"""Patterns of walls, floors, houses and skies, drawn from seeded noise or coloured photographs. All RGBA, all deterministic."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.demo.textures import Image, opaque, photograph, source

Field = NDArray[np.float64]


def noise(seed: int, size: tuple[int, int], cells: tuple[int, int], octaves: int = 4) -> Field:
    """Smooth tileable noise in [0,1]: bicubic blow-ups of wrapped random grids, each octave twice as fine and half as strong."""
    rng = np.random.default_rng(seed)
    height, width = size
    total = np.zeros(size)
    weight = 1.0
    rows, columns = cells
    for _ in range(octaves):
        grid = rng.random((rows, columns))
        wrapped = np.pad(grid, 2, mode="wrap")
        y, x = np.mgrid[0:height, 0:width].astype(np.float32)
        total += weight * cv2.remap(wrapped.astype(np.float32), x * columns / width + 2, y * rows / height + 2, cv2.INTER_CUBIC)
        weight *= 0.5
        rows, columns = min(rows * 2, height), min(columns * 2, width)
    total -= total.min()
    return total / total.max()


def ramp(values: Field, *colours: tuple[int, int, int]) -> Field:
    """Map [0,1] onto a run of colours."""
    stops = np.linspace(0, 1, len(colours))
    return np.dstack([np.interp(values, stops, [colour[channel] for colour in colours]) for channel in range(3)])


@source
def wood() -> Image:
    """Planks with grain, knots and dark joints."""
    size, planks = 512, 8
    out = np.empty((size, size, 3))
    step = size // planks
    rng = np.random.default_rng(11)
    for index in range(planks):
        grain = noise(100 + index, (size, step), (2, 6), 5)
        rings = 0.5 + 0.5 * np.sin(40 * grain + 6 * noise(200 + index, (size, step), (3, 3), 2))
        tone = 0.75 + 0.4 * rng.random()
        out[:, index * step : (index + 1) * step] = tone * ramp(
            0.55 * grain + 0.45 * rings, (92, 56, 28), (142, 92, 50), (190, 136, 84)
        )
        out[:, index * step : index * step + 2] *= 0.45
        joint = int(rng.integers(0, size - 3))
        out[joint : joint + 3, index * step : (index + 1) * step] *= 0.5
    return opaque(out)


@source
def plaster() -> Image:
    """A painted wall: fine stains, brush strokes, a few marks to hold on to."""
    size = (512, 512)
    field = 0.6 * noise(21, size, (6, 6), 6) + 0.4 * noise(22, size, (96, 12), 3)
    out = ramp(field, (178, 172, 160), (206, 201, 190), (232, 228, 219))
    rng = np.random.default_rng(23)
    for _ in range(90):
        x, y = rng.integers(0, 512, 2)
        cv2.circle(
            out,
            (int(x), int(y)),
            int(rng.integers(1, 5)),
            tuple(float(v) for v in np.array([120, 112, 100]) + rng.integers(0, 70)),
            -1,
        )
    return opaque(cv2.GaussianBlur(out, (0, 0), 0.8))


@source
def ceiling() -> Image:
    """Coffered panels of varied tone with mouldings and a rosette each; no two alike."""
    out = ramp(noise(24, (512, 512), (6, 6), 6), (176, 170, 158), (226, 221, 210))
    rng = np.random.default_rng(25)
    for row in range(8):
        for column in range(8):
            x, y = column * 64, row * 64
            out[y : y + 64, x : x + 64] *= 0.82 + 0.3 * rng.random()
            cv2.rectangle(out, (x + 6, y + 6), (x + 57, y + 57), (132.0, 122.0, 106.0), 2)
            for angle in np.arange(6) * np.pi / 3 + rng.random():
                centre = (int(x + 32 + 12 * np.cos(angle)), int(y + 32 + 12 * np.sin(angle)))
                cv2.circle(out, centre, int(rng.integers(2, 6)), tuple(float(v) for v in rng.integers(90, 170, 3)), -1)
    out[::64] *= 0.6
    out[:, ::64] *= 0.6
    return opaque(cv2.GaussianBlur(out, (0, 0), 0.8))


@source
def wallpaper() -> Image:
    """Stripes with diamonds and small flowers; every diamond has its own tone, so no two places look the same."""
    out = ramp(noise(31, (512, 512), (8, 8), 4), (70, 104, 112), (96, 134, 138))
    rng = np.random.default_rng(32)
    for row in range(8):
        for column in range(8):
            x, y = column * 64 + 32, row * 64 + 32
            tone = rng.integers(-35, 45)
            cv2.fillConvexPoly(
                out, np.array([(x, y - 26), (x + 18, y), (x, y + 26), (x - 18, y)]), tuple(float(v + tone) for v in (186, 170, 118))
            )
            for angle in np.arange(5) * 2 * np.pi / 5 + rng.random():
                centre = (int(x + 7 * np.cos(angle)), int(y + 7 * np.sin(angle)))
                cv2.circle(out, centre, 4, tuple(float(v) for v in rng.integers(90, 255, 3)), -1)
    out[:, ::64] *= 0.75
    return opaque(cv2.GaussianBlur(out, (0, 0), 0.8))


@source
def tiles() -> Image:
    """Glazed kitchen tiles of varied tone with grout."""
    out = np.empty((512, 512, 3))
    rng = np.random.default_rng(41)
    stain = noise(42, (512, 512), (8, 8), 5)
    for row in range(8):
        for column in range(8):
            base = np.array([(188, 206, 208), (160, 188, 196), (214, 214, 200), (120, 160, 172)][int(rng.integers(0, 4))])
            out[row * 64 : row * 64 + 64, column * 64 : column * 64 + 64] = base + rng.normal(0, 8, 3)
            if rng.random() < 0.3:
                centre = (column * 64 + 32, row * 64 + 32)
                cv2.ellipse(out, centre, (20, 9), float(rng.integers(0, 180)), 0, 360, (52.0, 92.0, 140.0), 3)
                cv2.ellipse(out, centre, (20, 9), float(rng.integers(0, 180)), 0, 360, (178.0, 92.0, 60.0), 3)
    out *= (0.85 + 0.3 * stain)[..., None]
    for line in range(0, 512, 64):
        out[line : line + 3], out[:, line : line + 3] = 112, 112
    return opaque(cv2.GaussianBlur(out, (0, 0), 0.7))


@source
def checker() -> Image:
    """Stone checker floor with veins."""
    veins = np.abs(noise(51, (512, 512), (5, 5), 6) - 0.5)
    out = ramp(np.clip(veins * 5, 0, 1), (120, 110, 100), (200, 192, 178), (222, 216, 204))
    dark = ((np.arange(512)[:, None] // 64 + np.arange(512)[None, :] // 64) % 2).astype(bool)
    out[dark] = out[dark] * np.array([0.42, 0.4, 0.42])
    return opaque(out)


@source
def carpet() -> Image:
    """A woven rug: border bands, medallions, coarse fibre."""
    y, x = np.mgrid[-1:1:512j, -1:1:512j]
    radius, edge = np.hypot(x, y), np.maximum(np.abs(x), np.abs(y))
    out = ramp(noise(61, (512, 512), (64, 64), 3), (128, 36, 40), (168, 56, 52))
    bands = [(0.97, (40, 34, 66)), (0.88, (206, 172, 102)), (0.83, (44, 62, 100)), (0.66, (206, 172, 102)), (0.63, (140, 40, 44))]
    for limit, colour in bands:
        out[edge < limit] = colour
    petals = radius < 0.34 + 0.12 * np.cos(8 * np.arctan2(y, x))
    out[petals] = (52, 70, 108)
    out[radius < 0.24 + 0.06 * np.cos(12 * np.arctan2(y, x))] = (212, 180, 112)
    out[radius < 0.12] = (150, 44, 46)
    small = (np.hypot((x * 6) % 1 - 0.5, (y * 6) % 1 - 0.5) < 0.22) & (edge > 0.66) & (edge < 0.83)
    out[small] = (196, 84, 60)
    return opaque(out * (0.72 + 0.5 * noise(62, (512, 512), (128, 128), 2))[..., None])


@source
def bookshelf() -> Image:
    """Four shelves of books with coloured spines and title lines."""
    out = np.full((512, 512, 3), (62.0, 40.0, 24.0))
    rng = np.random.default_rng(71)
    for shelf in range(4):
        top, x = shelf * 128 + 8, 6
        while x < 496:
            width, height = min(int(rng.integers(12, 30)), 506 - x), int(rng.integers(82, 112))
            colour = rng.integers(30, 225, 3).astype(float)
            out[top + 112 - height : top + 112, x : x + width] = colour * np.linspace(0.75, 1.05, width)[None, :, None]
            for _ in range(int(rng.integers(1, 4))):
                line = top + 112 - height + int(rng.integers(8, height - 12))
                out[line : line + 4, x + 3 : x + width - 3] = 235 - colour * 0.6
            x += width + 1
        out[top + 112 : top + 120] = (112, 76, 46)
    return opaque(out * (0.8 + 0.3 * noise(72, (512, 512), (16, 16), 4))[..., None])


@source
def brick() -> Image:
    """The brick photograph, stood upright and coloured."""
    grey = np.rot90(photograph("brick_photo")[..., :3]).astype(np.float64) / 255
    stain = noise(81, grey.shape[:2], (5, 5), 5)[..., None]
    return opaque(np.clip(1.25 * grey, 0, 1) * (np.array([240, 150, 116]) * (0.8 + 0.4 * stain)))


@source
def grass() -> Image:
    """The grass photograph in greens."""
    grey = photograph("grass_photo")[..., :3].astype(np.float64) / 255
    patch = noise(91, grey.shape[:2], (4, 4), 5)[..., None]
    return opaque(grey * ((1 - patch) * np.array([120, 190, 72]) + patch * np.array([196, 206, 98])))


@source
def gravel() -> Image:
    """The gravel photograph in warm grey."""
    grey = photograph("gravel_photo")[..., :3].astype(np.float64) / 255
    return opaque(grey * (np.array([236, 222, 198]) * (0.75 + 0.45 * noise(92, grey.shape[:2], (4, 4), 5)[..., None])))


@source
def facade() -> Image:
    """A house front: brick, windows with reflections and sills, one door; no two windows alike."""
    out = brick()[..., :3].astype(np.float64)
    rng = np.random.default_rng(101)
    for row in range(3):
        for column in range(4):
            x, y = 28 + column * 124, 30 + row * 160
            door = row == 2 and column == 1
            height = 150 if door else 96
            glass = ramp(noise(110 + row * 4 + column, (height, 78), (3, 3), 3), (30, 42, 58), (120, 150, 172))
            out[y : y + height, x : x + 78] = (96, 60, 34) if door else glass
            cv2.rectangle(out, (x - 4, y - 4), (x + 82, y + height + 3), (232.0, 226.0, 212.0), 6)
            if not door:
                out[y + height // 2 - 2 : y + height // 2 + 3, x : x + 78] = (232, 226, 212)
                out[y : y + height, x + 37 : x + 42] = (232, 226, 212)
                if rng.random() < 0.5:
                    out[y + 4 : y + height // 2, x + 4 : x + 36] = rng.integers(80, 230, 3)
    return opaque(out)


@source
def sky() -> Image:
    """One side of the sky: blue to haze, with clouds and a far line of hills."""
    rows = np.linspace(0, 1, 512)[:, None]
    out = ramp(np.repeat(rows, 512, axis=1), (64, 118, 188), (128, 174, 218), (206, 220, 228))
    cloud = np.clip(noise(121, (512, 512), (4, 3), 6) * 2.2 - 1.0, 0, 1)[..., None]
    out = out * (1 - cloud) + np.array([250, 248, 244]) * cloud
    hills = 0.87 + 0.05 * noise(122, (1, 512), (1, 6), 4)[0] - 0.02
    below = rows > hills[None, :]
    out[below] = ramp(noise(123, (512, 512), (24, 24), 4), (66, 92, 62), (118, 138, 92))[below]
    return opaque(out)


@source
def sky_top() -> Image:
    """Straight up."""
    cloud = np.clip(noise(131, (512, 512), (4, 4), 6) * 2.0 - 1.0, 0, 1)[..., None]
    return opaque(np.array([64, 118, 188]) * (1 - cloud) + np.array([240, 242, 246]) * cloud)
