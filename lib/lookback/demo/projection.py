"""Where quads and round bodies land in the image: plane matrices, clipped outlines, sample windows."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.camera.poses import inverse
from lookback.demo.geometry import Quad, Round, Shape
from lookback.demo.textures import image

NEAR = 0.05
REACH = 4000.0  # samples; an outline that goes further is clipped before it is filled
Window = tuple[slice, slice]


class Plane(NamedTuple):
    """A quad in front of the camera: `matrix` takes (x, y, 1) to (u/z, v/z, 1/z); `outline` is its image, cut at the near plane."""

    quad: Quad
    part: int
    matrix: NDArray[np.float64]
    outline: NDArray[np.float64]


def intrinsics(width: int, height: int, fov_deg: float) -> NDArray[np.float64]:
    """Pinhole with square pixels and integer coordinates at pixel centres: cx = (W-1)/2."""
    focal = width / (2 * np.tan(np.radians(fov_deg) / 2))
    return np.array([[focal, 0, (width - 1) / 2], [0, focal, (height - 1) / 2], [0, 0, 1]])


def project_quads(
    quads: list[Quad], parts: list[int], c2w: NDArray[np.float64], camera: NDArray[np.float64], size: tuple[int, int], margin: float
) -> list[Plane]:
    """The quads that face the camera and reach into the image widened by `margin` images on each side."""
    if not quads:
        return []
    w2c = inverse(c2w)
    local = np.array([quad.frame for quad in quads]) @ w2c[:3, :3].T  # (Q, [edge_u, edge_v, origin], xyz)
    local[:, 2] += w2c[:3, 3]
    u, v, o = local[:, 0], local[:, 1], local[:, 2]
    columns = local.transpose(0, 2, 1)
    volume = np.linalg.det(columns)  # above 0 where the texture reads correctly
    corners = np.stack([o, o + u, o + u + v, o + v], axis=1)
    two_sided = np.array([quad.two_sided for quad in quads])
    kept = (np.abs(volume) > 1e-9) & ((volume > 0) | two_sided) & (corners[..., 2].max(axis=1) > NEAR)
    crosses = corners[..., 2].min(axis=1) < NEAR
    projected = (corners @ camera.T)[..., :2] / np.maximum(corners[..., 2:], NEAR)
    low, high = projected.min(axis=1), projected.max(axis=1)
    reach = np.array(size) * margin
    outside = (high < -reach).any(axis=1) | (low > size + reach).any(axis=1)
    kept &= crosses | ~outside
    out = []
    for index in np.flatnonzero(kept):
        outline = projected[index]
        if crosses[index]:
            visible = _clip(corners[index], np.array([0.0, 0.0, 1.0]), NEAR)
            outline = (visible @ camera.T)[:, :2] / visible[:, 2:]
        out.append((index, outline))
    if not out:
        return []
    matrices = np.linalg.inv(columns[[index for index, _ in out]]) @ np.linalg.inv(camera)
    return [Plane(quads[index], parts[index], matrix, outline) for (index, outline), matrix in zip(out, matrices, strict=True)]


def _clip(polygon: NDArray[np.float64], normal: NDArray[np.float64], limit: float) -> NDArray[np.float64]:
    """The part of a convex polygon where normal . point >= limit (Sutherland-Hodgman, one side)."""
    side = polygon @ normal - limit
    out = []
    for index, here in enumerate(side):
        after = (index + 1) % len(side)
        if here >= 0:
            out.append(polygon[index])
        if (here >= 0) != (side[after] >= 0):
            out.append(polygon[index] + here / (here - side[after]) * (polygon[after] - polygon[index]))
    return np.array(out).reshape(-1, polygon.shape[1])


def round_outline(body: Round, c2w: NDArray[np.float64], camera: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Image points around the body, or None when it reaches behind the camera."""
    local = (Shape(rounds=(body,)).points() - c2w[:3, 3]) @ c2w[:3, :3]
    if local[:, 2].min() < NEAR:
        return None
    return (local @ camera.T)[:, :2] / local[:, 2:]


def window(outline: NDArray[np.float64], scale: int, shape: tuple[int, ...], margin: tuple[int, int] = (0, 0)) -> Window | None:
    """Rows and columns of the sample grid that the outline's bounding box covers; None outside of it."""
    low = np.floor((outline.min(axis=0) + margin + 0.5) * scale - 1.5)
    high = np.ceil((outline.max(axis=0) + margin + 0.5) * scale + 1.5)
    left, right = max(int(low[0]), 0), min(int(high[0]), shape[1])
    top, bottom = max(int(low[1]), 0), min(int(high[1]), shape[0])
    return None if left >= right or top >= bottom else (slice(top, bottom), slice(left, right))


def fill(outline: NDArray[np.float64], part: Window, scale: int) -> NDArray[np.bool_]:
    """Samples of the window that lie inside the convex outline."""
    height, width = part[0].stop - part[0].start, part[1].stop - part[1].start
    samples = (outline + 0.5) * scale - 0.5 - (part[1].start, part[0].start)
    if np.abs(samples).max() > REACH:  # cv2 rasterises in fixed point
        for axis, low, high in ((np.array([1.0, 0.0]), -8.0, width + 8.0), (np.array([0.0, 1.0]), -8.0, height + 8.0)):
            samples = _clip(_clip(samples, axis, low), -axis, -high)
    mask = np.zeros((height, width), np.uint8)
    if len(samples):
        cv2.fillConvexPoly(mask, np.rint(samples * 16).astype(np.int32), 1, cv2.LINE_8, 4)
    return mask.view(np.bool_)


def plane_coordinates(plane: Plane, x: NDArray[np.float32], y: NDArray[np.float32]) -> tuple[NDArray, NDArray, NDArray]:
    """u, v and inverse depth over the grid of x and y."""
    m = plane.matrix.astype(np.float32)
    over_u, over_v, over_z = (m[row, 0] * x[None, :] + (m[row, 1] * y + m[row, 2])[:, None] for row in range(3))
    return over_u / over_z, over_v / over_z, over_z


def inside_cutout(plane: Plane, x: NDArray[np.float32], y: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Where the cutout's alpha is above one half."""
    alpha = np.ascontiguousarray(image(plane.quad.texture)[..., 3])
    u, v, _ = plane_coordinates(plane, x, y)
    return np.asarray(cv2.remap(alpha, u * alpha.shape[1] - 0.5, v * alpha.shape[0] - 0.5, cv2.INTER_LINEAR) > 127)
