"""All textures of a picture in one image with their mip levels, so that one lookup colours a whole frame."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.demo.textures import Image, Texture, image

LEVELS = 6
PADDING = 2  # wrapped or repeated border around each level, so that bilinear lookups never read a neighbour
WIDTH, HEIGHT = 4096, 16384  # memory is committed as rows are painted; cv2.remap reads at most 32767


class Atlas:
    """Grows as textures are asked for; an entry is a texture multiplied by a light gain."""

    def __init__(self) -> None:
        self.pixels: Image = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        self._entries: dict[tuple[Texture, tuple[float, ...]], int] = {}
        self._levels: list[NDArray[np.float32]] = []
        self._table: NDArray[np.float32] | None = None
        self._x = self._y = self._row = 0
        self._levels.append(self._paint(np.zeros((4, 4, 3), np.uint8), (0.0, 0.0, 0.0), False))  # entry 0: nothing, black

    @property
    def used_rows(self) -> int:
        return self._y + self._row

    def entry(self, texture: Texture, gain: tuple[float, float, float], wraps: bool) -> int:
        """Index of the texture under this gain; it is painted on first use."""
        key = (texture, gain)
        if key not in self._entries:
            self._entries[key] = len(self._levels)
            self._levels.append(self._paint(image(texture)[..., :3], gain, wraps))
            self._table = None
        return self._entries[key]

    @property
    def table(self) -> NDArray[np.float32]:
        """(entries * LEVELS, 4): x and y of a level's upper left texel, its width and height."""
        if self._table is None:
            self._table = np.concatenate(self._levels)
        return self._table

    def size(self, entry: int) -> tuple[float, float]:
        """Width and height of an entry's finest level."""
        return float(self._levels[entry][0, 2]), float(self._levels[entry][0, 3])

    def _paint(self, pixels: Image, gain: tuple[float, float, float], wraps: bool) -> NDArray[np.float32]:
        shades = np.clip(np.rint(np.arange(256)[:, None] * np.array(gain)), 0, 255).astype(np.uint8)
        lit: Image = np.asarray(cv2.LUT(np.ascontiguousarray(pixels), shades.reshape(1, 256, 3)), np.uint8)
        border = cv2.BORDER_WRAP if wraps else cv2.BORDER_REPLICATE
        rows = np.empty((LEVELS, 4), np.float32)
        for level in range(LEVELS):
            height, width = lit.shape[:2]
            padded = cv2.copyMakeBorder(lit, PADDING, PADDING, PADDING, PADDING, border)
            x, y = self._place(padded.shape[1], padded.shape[0])
            self.pixels[y : y + padded.shape[0], x : x + padded.shape[1]] = padded
            rows[level] = (x + PADDING, y + PADDING, width, height)
            lit = np.asarray(cv2.resize(lit, (max(1, width // 2), max(1, height // 2)), interpolation=cv2.INTER_AREA), np.uint8)
        return rows

    def _place(self, width: int, height: int) -> tuple[int, int]:
        if self._x + width > WIDTH:
            self._x, self._y, self._row = 0, self._y + self._row, 0
        self._row = max(self._row, height)
        if self._y + self._row > HEIGHT:
            raise MemoryError(f"One picture uses more textures than an atlas of {WIDTH}x{HEIGHT} holds")
        place = (self._x, self._y)
        self._x += width
        return place
