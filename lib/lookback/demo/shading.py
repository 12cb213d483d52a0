"""Colours of samples: one table of plane matrices, one atlas lookup, Lambert light on round bodies."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.demo.atlas import LEVELS, Atlas
from lookback.demo.geometry import Round
from lookback.demo.light import Light
from lookback.demo.projection import Plane
from lookback.demo.rounds import local_rays, surface_of

SHARPNESS = -0.4  # bias of the mip level: four samples on edges allow slightly finer levels
_UNLIT = (1.0, 1.0, 1.0)
Floats = NDArray[np.float32]


class Shader:
    """Shades samples that lie on known surfaces: 1..P are planes, then the round bodies, 0 is empty and black."""

    def __init__(
        self, atlas: Atlas, planes: list[Plane], rounds: list[Round], c2w: NDArray[np.float64], camera: NDArray, light: Light
    ):
        self.atlas, self.planes, self.rounds = atlas, planes, rounds
        self.c2w, self.camera, self.light = c2w, camera, light
        self._table = np.zeros((10, 1 + len(planes) + len(rounds)), np.float32)
        self._entry = np.zeros(self._table.shape[1], np.int32)
        self._table[8, 0] = 1.0
        if planes:
            self._fill_table()

    def _fill_table(self) -> None:
        repeats = np.array([plane.quad.repeat for plane in self.planes])
        scaled = np.array([plane.matrix for plane in self.planes])
        scaled[:, :2] *= repeats[:, :, None]
        entries = [self.atlas.entry(p.quad.texture, self.light.baked(p.quad.outward), p.quad.repeats) for p in self.planes]
        count = len(self.planes)
        self._entry[1 : count + 1] = entries
        texels = self.atlas.table[np.array(entries) * LEVELS, 2:].prod(axis=1)
        self._table[:9, 1 : count + 1] = scaled.reshape(count, 9).T
        # area of a pixel on the texture is |det| / (1/z)^3 texels; its square root picks the mip level
        self._table[9, 1 : count + 1] = np.log2(np.abs(np.linalg.det(scaled)) * texels + 1e-30)

    def colours(self, x: Floats, y: Floats, who: NDArray[np.int32]) -> NDArray[np.uint8]:
        row = self._table.take(who, axis=1)
        over_z = row[6] * x
        over_z += row[7] * y
        over_z += row[8]
        np.maximum(over_z, 1e-6, out=over_z)
        level = np.rint(0.5 * (row[9] - 3 * np.log2(over_z)) + SHARPNESS)
        u, v = row[0] * x, row[3] * x
        u += row[1] * y
        v += row[4] * y
        u += row[2]
        v += row[5]
        u /= over_z
        v /= over_z
        for index, plane in enumerate(self.planes, start=1):
            if plane.quad.repeats:
                chosen = np.flatnonzero(who == index)
                u[chosen] -= np.floor(u[chosen])
                v[chosen] -= np.floor(v[chosen])
        slot = self._entry.take(who)
        lit: list[tuple[NDArray, NDArray]] = []
        for index, body in enumerate(self.rounds, start=len(self.planes) + 1):
            chosen = np.flatnonzero(who == index)
            if len(chosen):
                u[chosen], v[chosen], slot[chosen], level[chosen], gain = self._round(body, x[chosen], y[chosen])
                lit.append((chosen, gain))
        np.clip(u, 0, 1, out=u)
        np.clip(v, 0, 1, out=v)
        slot *= LEVELS
        slot += np.clip(level, 0, LEVELS - 1).astype(np.int32)
        place = self.atlas.table.take(slot, axis=0)
        out = _lookup(self.atlas.pixels, place[:, 0] + _texels(u, place[:, 2]), place[:, 1] + _texels(v, place[:, 3]))
        for chosen, gain in lit:
            out[chosen] = np.clip(np.rint(out[chosen] * gain), 0, 255)
        return out

    def _round(self, body: Round, x: Floats, y: Floats) -> tuple[NDArray, ...]:
        origin, matrix = local_rays(body, self.c2w, np.linalg.inv(self.camera))
        hit = surface_of(body, origin, matrix @ np.stack([x, y, np.ones_like(x)]).astype(np.float64))
        side = self.atlas.entry(body.texture, _UNLIT, True)
        disc = side if body.cap is None else self.atlas.entry(body.cap, _UNLIT, False)
        around = self.atlas.size(side)[0] / (2 * np.pi * body.radius)  # texels per metre
        level = np.log2(np.maximum(around * hit.depth / self.camera[0, 0], 1e-3)) + SHARPNESS
        gain = self.light.gain((body.rotation @ hit.normal).T)
        return hit.u, hit.v, np.where(hit.on_disc, disc, side), np.rint(level), gain


def _texels(share: Floats, length: Floats) -> Floats:
    """Texel coordinates in steps of 1/32, cv2's own: exact in float32, so that a colour does not depend on the atlas's order."""
    steps = np.rint((share * length - np.float32(0.5)) * np.float32(32))
    return steps * np.float32(1 / 32)


def _lookup(pixels: NDArray[np.uint8], map_x: Floats, map_y: Floats) -> NDArray[np.uint8]:
    """Bilinear colours at flat coordinates; the maps are folded to rows because cv2 limits a side to 32767."""
    count, width = len(map_x), 1024
    rows = -(-count // width)
    folded = np.zeros((2, rows * width), np.float32)
    folded[0, :count], folded[1, :count] = map_x, map_y
    maps = folded.reshape(2, rows, width)
    return np.asarray(cv2.remap(pixels, maps[0], maps[1], cv2.INTER_LINEAR), np.uint8).reshape(-1, 3)[:count]
