"""A z-buffered renderer of textured quads and round bodies.

A quad's plane maps pixels to (u/z, v/z, 1/z) by one 3x3 matrix, so inverse depth is linear in the image and exact everywhere.
Visibility is resolved on a grid twice as fine as the picture; pixels whose four samples agree are shaded once, edges four times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.camera.poses import inverse
from lookback.demo.atlas import Atlas
from lookback.demo.geometry import Decal, Glow, Round, Shape
from lookback.demo.light import Light
from lookback.demo.projection import (
    NEAR,
    Plane,
    fill,
    inside_cutout,
    intrinsics,
    plane_coordinates,
    project_quads,
    round_outline,
    window,
)
from lookback.demo.rounds import depth_of, local_rays
from lookback.demo.shading import Shader
from lookback.demo.textures import image

FAR_AWAY = 1e-3  # inverse depth of the empty background
SAMPLES = 2  # visibility samples per pixel and axis
ATLAS_LIMIT = 8000  # rows after which a fresh atlas is started, to bound memory (cv2.remap reads at most 32767)


class Picture(NamedTuple):
    """What one camera sees: RGB uint8, depth float32 (metres along z), and the part of the scene under each pixel (0 = nothing)."""

    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    parts: NDArray[np.uint8]


class PlacedShape(NamedTuple):
    """A shape and the part number of its pixels."""

    shape: Shape
    part: int


class Renderer:
    """Draws items from a pose; keeps the pixel grids and the atlas between frames."""

    def __init__(self, width: int, height: int, fov_deg: float):
        self.width, self.height = width, height
        self.camera = intrinsics(width, height, fov_deg)
        self._unproject: NDArray[np.float64] = np.linalg.inv(self.camera).astype(np.float64)
        self._atlas = Atlas()
        self._x = ((np.arange(width * SAMPLES) + 0.5) / SAMPLES - 0.5).astype(np.float32)
        self._y = ((np.arange(height * SAMPLES) + 0.5) / SAMPLES - 0.5).astype(np.float32)

    def render(self, items: Sequence[PlacedShape], c2w: NDArray[np.float64], light: Light) -> Picture:
        planes = self._planes(items, c2w, margin=0)
        rounds = [(body, item.part) for item in items for body in item.shape.rounds]
        near = np.full((self.height * SAMPLES, self.width * SAMPLES), FAR_AWAY, np.float32)
        owner = np.zeros(near.shape, np.int32)
        for number, plane in enumerate(planes, start=1):
            self._draw_plane(plane, number, near, owner)
        for number, (body, _) in enumerate(rounds, start=len(planes) + 1):
            self._draw_round(body, c2w, number, near, owner)
        if self._atlas.used_rows > ATLAS_LIMIT:
            self._atlas = Atlas()
        shader = Shader(self._atlas, planes, [body for body, _ in rounds], c2w, self.camera, light)
        rgb = self._shade(shader, owner)
        centre = owner[1::SAMPLES, 1::SAMPLES]
        depth = self._depth(planes, [body for body, _ in rounds], centre, near, c2w)
        parts = np.array([0, *(plane.part for plane in planes), *(part for _, part in rounds)], np.uint8)[centre]
        self._apply_decals([decal for item in items for decal in item.shape.decals], c2w, depth, rgb)
        for item in items:
            for glow in item.shape.glows:
                self._apply_glow(glow, c2w, depth, rgb)
        return Picture(rgb, depth, parts)

    def silhouette_area(self, shape: Shape, c2w: NDArray[np.float64]) -> float:
        """Pixels the shape would cover alone, counted up to one image beyond each border."""
        margin = (self.width, self.height)
        covered = np.zeros((3 * self.height, 3 * self.width), np.uint8)
        x = np.arange(covered.shape[1], dtype=np.float32) - self.width
        y = np.arange(covered.shape[0], dtype=np.float32) - self.height
        for plane in self._planes([PlacedShape(shape, 1)], c2w, margin=1):
            part = window(plane.outline, 1, covered.shape, margin)
            if part is not None:
                inside = fill(plane.outline + margin, part, 1)
                covered[part] |= inside & inside_cutout(plane, x[part[1]], y[part[0]]) if plane.quad.cutout else inside
        for body in shape.rounds:
            outline = round_outline(body, c2w, self.camera)
            part = None if outline is None else window(outline, 1, covered.shape, margin)
            if part is not None:
                covered[part] |= np.isfinite(self._cast(body, c2w, x[part[1]], y[part[0]]))
        return float(covered.sum())

    def _planes(self, items: Sequence[PlacedShape], c2w: NDArray[np.float64], margin: float) -> list[Plane]:
        quads = [quad for item in items for quad in item.shape.quads]
        parts = [item.part for item in items for _ in item.shape.quads]
        return project_quads(quads, parts, c2w, self.camera, (self.width, self.height), margin)

    def _draw_plane(self, plane: Plane, number: int, near: NDArray[np.float32], owner: NDArray[np.int32]) -> None:
        part = window(plane.outline, SAMPLES, near.shape)
        if part is None:
            return
        x, y = self._x[part[1]], self._y[part[0]]
        a, b, c = plane.matrix[2].astype(np.float32)
        closeness = (a * x)[None, :] + (b * y + c)[:, None]
        better = fill(plane.outline, part, SAMPLES)
        better &= closeness > near[part]
        if plane.quad.cutout:
            better &= inside_cutout(plane, x, y)
        np.copyto(near[part], closeness, where=better)
        np.copyto(owner[part], number, where=better)

    def _cast(self, body: Round, c2w: NDArray[np.float64], x: NDArray, y: NDArray) -> NDArray:
        origin, matrix = local_rays(body, c2w, self._unproject)
        m = matrix.astype(np.float32)
        return depth_of(body, origin, m[:, 0, None, None] * x + (m[:, 1, None] * y + m[:, 2, None])[:, :, None])

    def _draw_round(self, body: Round, c2w: NDArray[np.float64], number: int, near: NDArray, owner: NDArray) -> None:
        outline = round_outline(body, c2w, self.camera)
        part = None if outline is None else window(outline, SAMPLES, near.shape)
        if part is None:
            return
        closeness = (1 / self._cast(body, c2w, self._x[part[1]], self._y[part[0]])).astype(np.float32)
        better = closeness > near[part]
        np.copyto(near[part], closeness, where=better)
        np.copyto(owner[part], number, where=better)

    def _depth(
        self,
        planes: list[Plane],
        rounds: list[Round],
        centre: NDArray[np.int32],
        near: NDArray[np.float32],
        c2w: NDArray[np.float64],
    ) -> NDArray[np.float32]:
        """Depth at pixel centres, from the equation of the surface there; a grazing ray keeps its sample's depth."""
        rows = np.zeros((3, len(planes) + 1), np.float32)
        if planes:
            rows[:, 1:] = np.array([plane.matrix[2] for plane in planes]).T
        flat = np.where(centre <= len(planes), centre, 0)
        x = np.arange(self.width, dtype=np.float32)[None, :]
        y = np.arange(self.height, dtype=np.float32)[:, None]
        closeness = rows[0].take(flat) * x + rows[1].take(flat) * y + rows[2].take(flat)
        depth = (1 / np.where((flat > 0) & (closeness > FAR_AWAY), closeness, near[1::SAMPLES, 1::SAMPLES])).astype(np.float32)
        for number, body in enumerate(rounds, start=len(planes) + 1):
            rows_in, columns_in = np.nonzero(centre == number)
            if len(rows_in):
                origin, matrix = local_rays(body, c2w, self._unproject)
                found = depth_of(body, origin, matrix @ np.stack([columns_in, rows_in, np.ones_like(rows_in)]).astype(np.float64))
                hit = np.isfinite(found)
                depth[rows_in[hit], columns_in[hit]] = found[hit]
        return depth

    def _shade(self, shader: Shader, owner: NDArray[np.int32]) -> NDArray[np.uint8]:
        a, b, c, d = owner[::2, ::2], owner[::2, 1::2], owner[1::2, ::2], owner[1::2, 1::2]
        edge = (a != b) | (a != c) | (a != d)
        rows, columns = np.nonzero(edge)
        n_pixels, n_edge = edge.size, len(rows)
        x = np.empty(n_pixels + 4 * n_edge, np.float32)
        y = np.empty_like(x)
        who = np.empty(len(x), np.int32)
        x[:n_pixels].reshape(edge.shape)[:] = np.arange(self.width)
        y[:n_pixels].reshape(edge.shape)[:] = np.arange(self.height)[:, None]
        who[:n_pixels] = d.ravel()
        for index, (samples, dx, dy) in enumerate(((a, -0.25, -0.25), (b, 0.25, -0.25), (c, -0.25, 0.25), (d, 0.25, 0.25))):
            part = slice(n_pixels + index * n_edge, n_pixels + (index + 1) * n_edge)
            x[part], y[part], who[part] = columns + dx, rows + dy, samples[rows, columns]
        colours = shader.colours(x, y, who)
        rgb = colours[:n_pixels].reshape(self.height, self.width, 3).copy()
        corners = colours[n_pixels:].reshape(4, n_edge, 3)
        rgb[rows, columns] = (corners.sum(axis=0, dtype=np.uint16) + 2) >> 2
        return rgb

    def _apply_decals(self, decals: list[Decal], c2w: NDArray, depth: NDArray[np.float32], rgb: NDArray[np.uint8]) -> None:
        for plane in self._planes([PlacedShape(Shape((decal.quad,)), index) for index, decal in enumerate(decals)], c2w, margin=0):
            decal = decals[plane.part]
            part = window(plane.outline, 1, depth.shape)
            if part is None:
                continue
            x = np.arange(self.width, dtype=np.float32)[part[1]]
            y = np.arange(self.height, dtype=np.float32)[part[0]]
            u, v, closeness = plane_coordinates(plane, x, y)
            pixels = image(decal.quad.texture)
            sample = cv2.remap(pixels, u * pixels.shape[1] - 0.5, v * pixels.shape[0] - 0.5, cv2.INTER_LINEAR)
            on_surface = np.abs(closeness * depth[part] - 1) < 0.01
            weight = (sample[..., 3] * on_surface * np.float32(decal.strength / 255))[..., None]
            rgb[part] = np.rint(rgb[part] * (1 - weight) + sample[..., :3] * weight)

    def _apply_glow(self, glow: Glow, c2w: NDArray, depth: NDArray[np.float32], rgb: NDArray[np.uint8]) -> None:
        x, y, z = inverse(c2w)[:3] @ np.array([*glow.position, 1.0])
        if z < NEAR:
            return
        column, row = self.camera[:2] @ np.array([x, y, z]) / z
        reach = self.camera[0, 0] * glow.radius / z
        part = window(np.array([[column - reach, row - reach], [column + reach, row + reach]]), 1, depth.shape)
        if part is None:
            return
        dx = (np.arange(self.width)[part[1]] - column) / reach
        dy = (np.arange(self.height)[part[0]] - row) / reach
        fall = np.clip(1 - np.hypot(dx[None, :], dy[:, None]), 0, 1) ** 2 * (depth[part] > z - glow.radius)
        rgb[part] = np.clip(np.rint(rgb[part] + fall[..., None] * np.array(glow.colour)), 0, 255)
