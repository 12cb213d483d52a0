"""Patterns of things, drawn from seeded noise: ball, cup, candle, ice, boxes, screens, shadows and puddles. All RGBA."""

from __future__ import annotations

import cv2
import numpy as np

from lookback.demo.patterns import noise, ramp, wood
from lookback.demo.textures import Image, opaque, photograph, source


@source
def stripes() -> Image:
    """A beach ball: six coloured gores, white caps, small stars."""
    out = np.empty((256, 512, 3))
    colours = [(212, 48, 44), (245, 240, 230), (40, 92, 176), (246, 196, 50), (245, 240, 230), (44, 150, 84)]
    for index in range(6):
        out[:, index * 512 // 6 : (index + 1) * 512 // 6] = colours[index]
    for x in range(20, 512, 43):
        cv2.circle(out, (x, 128 + 30 * (-1) ** (x % 2)), 9, (40.0, 40.0, 60.0), -1)
    out[:26], out[-26:] = (250, 250, 250), (250, 250, 250)
    return opaque(out)


@source
def glaze() -> Image:
    """A painted cup: bands and dots on cream."""
    out = ramp(noise(141, (256, 512), (8, 16), 4), (226, 212, 186), (246, 238, 220))
    out[30:52], out[200:226] = (172, 44, 40), (36, 82, 140)
    for index, x in enumerate(range(16, 512, 32)):
        cv2.circle(
            out, (x, 110 if index % 2 else 150), 13, [(36.0, 82.0, 140.0), (172.0, 44.0, 40.0), (214.0, 160.0, 52.0)][index % 3], -1
        )
    return opaque(out)


@source
def wax() -> Image:
    """Candle wax with drips and a coloured spiral."""
    out = ramp(noise(151, (256, 256), (20, 4), 4), (212, 186, 142), (250, 238, 212))
    y, x = np.mgrid[0:256, 0:256]
    out[((x + 2 * y) % 64) < 14] = (188, 52, 56)
    return opaque(out)


@source
def ice() -> Image:
    """Ice: cracks and bubbles in pale blue."""
    field = noise(161, (256, 256), (5, 5), 6)
    out = ramp(field, (120, 176, 210), (190, 226, 240), (244, 252, 255))
    out[np.abs(noise(162, (256, 256), (4, 4), 5) - 0.5) < 0.018] = (255, 255, 255)
    rng = np.random.default_rng(163)
    for _ in range(60):
        cv2.circle(out, tuple(int(v) for v in rng.integers(0, 256, 2)), int(rng.integers(1, 4)), (236.0, 248.0, 255.0), -1)
    return opaque(out)


@source
def cloth() -> Image:
    """Woven upholstery."""
    weave = 0.5 + 0.25 * np.sin(np.arange(256) * 0.8)[:, None] + 0.25 * np.sin(np.arange(256) * 0.8 + 1)[None, :]
    out = ramp(0.5 * weave + 0.5 * noise(171, (256, 256), (8, 8), 4), (88, 74, 62), (172, 150, 126))
    rng = np.random.default_rng(172)
    for _ in range(24):
        x, y = (int(v) for v in rng.integers(10, 246, 2))
        cv2.rectangle(out, (x, y), (x + 9, y + 9), tuple(float(v) for v in rng.integers(60, 230, 3)), -1)
    return opaque(out)


@source
def metal() -> Image:
    """Brushed panels with rivets and a stencilled stripe."""
    out = ramp(noise(181, (256, 256), (128, 4), 3), (120, 128, 136), (196, 202, 208))
    out[96:128] = (226, 176, 44)
    out[96:128, ::32] = (40, 40, 44)
    out[:4], out[:, :4], out[-4:], out[:, -4:] = 70, 70, 70, 70
    for x in range(16, 256, 32):
        cv2.circle(out, (x, 14), 4, (84.0, 88.0, 92.0), -1)
        cv2.circle(out, (x, 242), 4, (84.0, 88.0, 92.0), -1)
    return opaque(out)


@source
def cardboard() -> Image:
    """A packing box: tape, label, print."""
    out = ramp(noise(191, (256, 256), (64, 6), 4), (150, 112, 72), (190, 150, 104))
    out[112:144] = (206, 186, 142)
    out[24:84, 24:120] = (240, 238, 230)
    for line in range(32, 80, 10):
        out[line : line + 3, 32 : 32 + (line * 37) % 70 + 12] = (40, 40, 44)
    cv2.arrowedLine(out, (70, 236), (70, 164), (170.0, 40.0, 36.0), 8, tipLength=0.4)
    cv2.arrowedLine(out, (110, 236), (110, 164), (170.0, 40.0, 36.0), 8, tipLength=0.4)
    cv2.rectangle(out, (150, 168), (232, 234), (40.0, 40.0, 44.0), 5)
    return opaque(out)


@source
def cat_house() -> Image:
    """A wooden cat house seen from the front, the cat looking out of its round door."""
    out = cv2.resize(wood()[..., :3], (384, 320)).astype(np.float64) * np.array([1.0, 1.05, 0.9])
    cat = cv2.resize(photograph("cat")[..., :3], (400, 266)).astype(np.float64)
    hole = np.zeros((320, 384), np.uint8)
    cv2.ellipse(hole, (192, 172), (140, 128), 0, 0, 360, 255, -1)
    inside = np.zeros_like(out)
    inside[40:306, :] = cat[:, 8:392]
    out[hole > 0] = inside[hole > 0]
    cv2.ellipse(out, (192, 172), (140, 128), 0, 0, 360, (60.0, 34.0, 18.0), 8)
    return opaque(out)


@source
def screen() -> Image:
    """A computer screen with windows and text."""
    out = np.full((192, 256, 3), (24.0, 40.0, 64.0))
    page = cv2.resize(photograph("page")[..., :3], (150, 100)).astype(np.float64)
    out[24:124, 20:170] = page
    out[64:176, 120:244] = cv2.resize(photograph("galaxies")[..., :3], (124, 112))
    out[:10] = (180, 186, 196)
    return opaque(out)


@source
def shadow() -> Image:
    """A soft round shadow: black, fading out."""
    y, x = np.mgrid[-1:1:128j, -1:1:128j]
    alpha = np.clip(1 - np.hypot(x, y), 0, 1) ** 0.8 * 150
    return np.dstack([np.zeros((128, 128, 3), np.uint8), alpha.astype(np.uint8)])


@source
def spill() -> Image:
    """A puddle of coffee."""
    y, x = np.mgrid[-1:1:128j, -1:1:128j]
    radius = np.hypot(x, y) + 0.28 * (noise(201, (128, 128), (4, 4), 3) - 0.5)
    alpha = np.clip((0.85 - radius) * 10, 0, 1) * 235
    return np.dstack([np.full((128, 128, 3), (74, 38, 16), np.uint8), alpha.astype(np.uint8)])


@source
def puddle() -> Image:
    """Melt water: pale, with a bright rim."""
    y, x = np.mgrid[-1:1:128j, -1:1:128j]
    radius = np.hypot(x, y) + 0.22 * (noise(211, (128, 128), (4, 4), 3) - 0.5)
    out = ramp(np.clip(radius, 0, 1), (150, 196, 222), (176, 214, 232), (240, 250, 255))
    alpha = np.clip((0.88 - radius) * 12, 0, 1) * 190
    return np.dstack([out.astype(np.uint8), alpha.astype(np.uint8)])
