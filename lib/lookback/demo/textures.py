"""Surfaces of the demo world: photographs that ship inside installed packages, patterns drawn here, and edits on both.

A `Texture` is a hashable recipe (a source and edits); `image` computes its pixels once. Photographs: scikit-image's data folder
(astronaut, cat, coffee, rocket, motorcycle, brick, grass), matplotlib's Grace Hopper, scikit-learn's pagoda and flower. None is
downloaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import PIL.Image
from numpy.typing import NDArray

from lookback.errors import LookbackError

Image = NDArray[np.uint8]

MAX_SIDE = 512


@dataclass(frozen=True)
class Texture:
    """A source and the edits on it, in order; equal recipes give equal pixels."""

    source: str
    edits: tuple[tuple[Any, ...], ...] = ()

    def edit(self, name: str, *arguments: Any) -> Texture:
        return Texture(self.source, (*self.edits, (name, *arguments)))

    def tint(self, red: float, green: float, blue: float) -> Texture:
        return self.edit("tint", red, green, blue)


_PACKAGES = {"skimage": "data", "matplotlib": "mpl-data/sample_data", "sklearn": "datasets/images"}


@lru_cache(maxsize=4)
def _folder(package: str) -> Path:
    """The installed package's folder of pictures, found without importing it."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise LookbackError(f"The demo world takes photographs from {package}, which is not installed; run make setup")
    return Path(found.submodule_search_locations[0]) / _PACKAGES[package]


PHOTOGRAPHS: dict[str, tuple[str, str]] = {
    "astronaut": ("skimage", "astronaut.png"),
    "hopper": ("matplotlib", "grace_hopper.jpg"),
    "cat": ("skimage", "chelsea.png"),
    "coffee": ("skimage", "coffee.png"),
    "rocket": ("skimage", "rocket.jpg"),
    "motorcycle": ("skimage", "motorcycle_left.png"),
    "brick_photo": ("skimage", "brick.png"),
    "grass_photo": ("skimage", "grass.png"),
    "gravel_photo": ("skimage", "gravel.png"),
    "moon": ("skimage", "moon.png"),
    "galaxies": ("skimage", "hubble_deep_field.jpg"),
    "retina": ("skimage", "retina.jpg"),
    "tissue": ("skimage", "ihc.png"),
    "coins": ("skimage", "coins.png"),
    "page": ("skimage", "page.png"),
    "cameraman": ("skimage", "camera.png"),
    "pagoda": ("sklearn", "china.jpg"),
    "flower": ("sklearn", "flower.jpg"),
}

# outlines of the subjects in their photographs, in pixels of the original
OUTLINES: dict[str, list[tuple[int, int]]] = {
    "astronaut": [
        (20, 511), (19, 430), (24, 345), (44, 272), (76, 236), (112, 208), (113, 190), (125, 168), (138, 155), (156, 149),
        (176, 149), (180, 136), (170, 124), (157, 112), (153, 85), (158, 60), (178, 40), (200, 25), (228, 15), (256, 20),
        (281, 36), (299, 62), (300, 92), (292, 116), (275, 134), (268, 140), (262, 164), (275, 180), (295, 205), (306, 236),
        (335, 255), (351, 288), (363, 346), (386, 342), (410, 343), (440, 352), (470, 376), (490, 412), (498, 446),
        (511, 470), (511, 511),
    ],
    "hopper": [
        (12, 599), (19, 500), (30, 422), (50, 386), (110, 361), (160, 346), (196, 320), (200, 300), (172, 288), (160, 266),
        (152, 205), (154, 122), (168, 100), (175, 72), (196, 46), (224, 30), (250, 22), (300, 38), (335, 60), (350, 86),
        (370, 90), (371, 180), (376, 200), (366, 250), (356, 284), (333, 300), (330, 312), (370, 346), (420, 366), (480, 386),
        (500, 410), (511, 450), (511, 599),
    ],
    "motorcycle": [
        (95, 200), (138, 152), (160, 146), (176, 165), (250, 176), (330, 184), (352, 168), (358, 152), (330, 128), (345, 108),
        (376, 110), (420, 122), (452, 134), (470, 110), (490, 76), (506, 70), (545, 100), (572, 114), (581, 130), (566, 150),
        (560, 184), (546, 195), (549, 210), (580, 260), (622, 276), (646, 304), (662, 322), (682, 352), (686, 400),
        (670, 440), (640, 452), (600, 441), (560, 412), (530, 366), (510, 330), (505, 300), (515, 280), (492, 252),
        (481, 290), (475, 330), (456, 360), (420, 378), (347, 373), (346, 430), (325, 437), (321, 376), (282, 366),
        (256, 386), (220, 400), (180, 399), (146, 376), (124, 330), (123, 282), (143, 250), (110, 246), (98, 226),
    ],
}  # fmt: skip

# the middle between the eyes and their distance, to lay one portrait over another
EYES: dict[str, tuple[float, float, float]] = {"astronaut": (222.0, 101.0, 45.0), "hopper": (263.0, 188.0, 83.0)}
PORTRAIT_SIZE = (500, 480)
_PORTRAIT_EYES = (288.0, 132.0, 64.0)  # the position of the eyes in every portrait

SOURCES: dict[str, Callable[[], Image]] = {}
EDITS: dict[str, Callable[..., Image]] = {}


def source(function: Callable[[], Image]) -> Callable[[], Image]:
    """Register a drawn pattern under its function's name."""
    SOURCES[function.__name__] = function
    return function


def texture_edit(function: Callable[..., Image]) -> Callable[..., Image]:
    """Register an edit under its function's name."""
    EDITS[function.__name__] = function
    return function


def _pixels(name: str) -> Image:
    package, file = PHOTOGRAPHS[name]
    with PIL.Image.open(_folder(package) / file) as photo:
        return np.asarray(photo.convert("RGB"))


def photograph(name: str) -> Image:
    """The whole photograph as RGBA, at most `MAX_SIDE` long."""
    return fit(opaque(_pixels(name)))


def cutout(name: str) -> Image:
    """The subject of a photograph as RGBA, cropped to its outline; alpha is 0 outside."""
    pixels = _pixels(name)
    outline = np.array(OUTLINES[name], dtype=np.int32)
    alpha = np.zeros(pixels.shape[:2], dtype=np.uint8)
    cv2.fillPoly(alpha, [outline], 255)
    soft = cv2.GaussianBlur(alpha, (0, 0), 2.5)  # rounds the polygon's corners; the renderer cuts at one half
    x, y, width, height = cv2.boundingRect(outline)
    return fit(np.dstack([pixels, soft])[y : y + height, x : x + width].astype(np.uint8))


def portrait(name: str) -> Image:
    """Head and shoulders of a person as RGBA, eyes at the same place for everybody."""
    pixels = _pixels(name)
    alpha = np.zeros(pixels.shape[:2], dtype=np.uint8)
    cv2.fillPoly(alpha, [np.array(OUTLINES[name], dtype=np.int32)], 255)
    scale = _PORTRAIT_EYES[2] / EYES[name][2]
    shift = [_PORTRAIT_EYES[axis] - scale * EYES[name][axis] for axis in range(2)]
    placed = cv2.warpAffine(
        np.dstack([pixels, cv2.GaussianBlur(alpha, (0, 0), 2.5)]),
        np.array([[scale, 0, shift[0]], [0, scale, shift[1]]]),
        PORTRAIT_SIZE,
        flags=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC,
    )
    return fit(np.asarray(placed))


def opaque(rgb: NDArray[Any]) -> Image:
    """RGB as RGBA with full alpha."""
    return np.dstack([np.clip(rgb, 0, 255).astype(np.uint8), np.full(rgb.shape[:2], 255, np.uint8)])


def fit(pixels: Image) -> Image:
    """No side longer than `MAX_SIDE`."""
    scale = MAX_SIDE / max(pixels.shape[:2])
    if scale >= 1:
        return pixels
    size = (max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale)))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA))


@lru_cache(maxsize=256)
def image(texture: Texture) -> Image:
    """The texture's pixels: RGBA uint8."""
    if texture.edits:
        name, *arguments = texture.edits[-1]
        return EDITS[name](image(Texture(texture.source, texture.edits[:-1])), *arguments)
    kind, _, name = texture.source.partition(":")
    if kind in ("cutout", "portrait"):
        return cutout(name) if kind == "cutout" else portrait(name)
    if texture.source in PHOTOGRAPHS:
        return photograph(texture.source)
    return SOURCES[texture.source]()


@texture_edit
def tint(pixels: Image, red: float, green: float, blue: float) -> Image:
    out = pixels.copy()
    out[..., :3] = np.clip(pixels[..., :3] * np.array([red, green, blue]), 0, 255)
    return out


@texture_edit
def hue(pixels: Image, degrees: float, saturation: float = 1.0) -> Image:
    """Turn the hue and scale the saturation."""
    hsv = cv2.cvtColor(np.ascontiguousarray(pixels[..., :3]).astype(np.float32) / 255, cv2.COLOR_RGB2HSV)
    hsv[..., 0] = (hsv[..., 0] + degrees) % 360
    hsv[..., 1] = np.clip(hsv[..., 1] * saturation, 0, 1)
    return np.dstack([np.rint(cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB) * 255).astype(np.uint8), pixels[..., 3]])


@texture_edit
def mix(pixels: Image, other: Texture, weight: float) -> Image:
    """Fade to another texture, stretched to the same size; outlines fade, too; pixels outside of them add no colour."""
    target = cv2.resize(image(other), (pixels.shape[1], pixels.shape[0]), interpolation=cv2.INTER_AREA)
    share, share_other = (1 - weight) * pixels[..., 3:], weight * target[..., 3:].astype(np.float64)
    alpha = share + share_other
    colour = (pixels[..., :3] * share + target[..., :3] * share_other) / np.maximum(alpha, 1e-9)
    return np.rint(np.dstack([np.where(alpha > 0, colour, pixels[..., :3]), alpha])).astype(np.uint8)


@texture_edit
def swirl(pixels: Image, amount: float) -> Image:
    """Drag the pattern around by a smooth field, up to `amount` of the side: the material is no longer the same."""
    height, width = pixels.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    phase_x, phase_y = x / width * 2 * np.pi, y / height * 2 * np.pi
    dx = np.sin(3 * phase_y + 1) + 0.6 * np.sin(5 * phase_x + 2 * phase_y)
    dy = np.sin(3 * phase_x + 4) + 0.6 * np.sin(4 * phase_y + 3 * phase_x + 2)
    warped = cv2.remap(
        pixels[..., :3].copy(), x + amount * width * dx, y + amount * height * dy, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT
    )
    return np.dstack([warped, pixels[..., 3]])


@texture_edit
def shade_edges(pixels: Image, strength: float) -> Image:
    """Darken towards the edges: the corners of a room see less light."""
    height, width = pixels.shape[:2]
    x, y = np.abs(np.linspace(-1, 1, width)), np.abs(np.linspace(-1, 1, height))
    shade = 1 - strength * np.maximum(x[None, :] ** 8, y[:, None] ** 8)
    out = pixels.copy()
    out[..., :3] = np.rint(pixels[..., :3] * shade[..., None])
    return out


@texture_edit
def tiled(pixels: Image, across: int, down: int) -> Image:
    """The pattern repeated within one texture."""
    return fit(np.ascontiguousarray(np.tile(pixels, (down, across, 1))))


@texture_edit
def framed(pixels: Image, red: int, green: int, blue: int) -> Image:
    """A picture in a frame with a white mat."""
    border = max(4, min(pixels.shape[:2]) // 12)
    mat = cv2.copyMakeBorder(pixels, border, border, border, border, cv2.BORDER_CONSTANT, value=(238, 234, 224, 255))
    wood = cv2.copyMakeBorder(mat, border, border, border, border, cv2.BORDER_CONSTANT, value=(red, green, blue, 255))
    return fit(wood.astype(np.uint8))


@texture_edit
def crop(pixels: Image, left: float, top: float, right: float, bottom: float) -> Image:
    """A part of the picture, in shares of its sides."""
    height, width = pixels.shape[:2]
    return np.ascontiguousarray(pixels[int(top * height) : int(bottom * height), int(left * width) : int(right * width)])
