"""Rays against spheres and frustums: depth for visibility, texture coordinates and normals for shading."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookback.demo.geometry import Round

Array = NDArray[np.floating]
_MISS = np.inf


class Surface(NamedTuple):
    """Per ray that hits: texture coordinates in [0,1], normal (3, …) in the body's frame, depth, and whether it is an end disc."""

    u: Array
    v: Array
    normal: Array
    depth: Array
    on_disc: NDArray[np.bool_]


def local_rays(body: Round, c2w: NDArray[np.float64], unproject: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
    """(origin, matrix): pixel (x, y) looks along origin + z * matrix @ (x, y, 1) in the body's frame, z being its depth."""
    inverse = body.rotation.T
    return inverse @ (c2w[:3, 3] - body.position), inverse @ c2w[:3, :3] @ unproject


def depth_of(body: Round, origin: NDArray[np.float64], d: Array) -> Array:
    """Depth of the nearest hit of rays origin + z d (d is (3, …)); infinite where they miss."""
    return _sphere_depth(body, origin, d) if body.height == 0 else _frustum_depth(body, origin, d)[0]


def surface_of(body: Round, origin: NDArray[np.float64], d: Array) -> Surface:
    """The surface under rays that hit."""
    if body.height == 0:
        depth = _sphere_depth(body, origin, d)
        depth = np.where(np.isfinite(depth), depth, -(origin @ d) / (d * d).sum(axis=0))  # a grazing ray: its nearest point
        point = (origin.reshape(3, *[1] * (d.ndim - 1)) + depth * d) / body.radius
        u = np.arctan2(point[0], -point[2]) / (2 * np.pi) + 0.5
        v = np.arccos(np.clip(-point[1], -1, 1)) / np.pi
        return Surface(u, v, point, depth, np.zeros(depth.shape, bool))
    return _frustum_surface(body, origin, d)


def _sphere_depth(body: Round, origin: NDArray[np.float64], d: Array) -> Array:
    o = origin.astype(d.dtype)
    a = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
    b = o[0] * d[0] + o[1] * d[1] + o[2] * d[2]
    root = b * b - a * d.dtype.type(origin @ origin - body.radius**2)
    hit = (root > 0) & (b < 0)
    return np.where(hit, (-b - np.sqrt(np.where(hit, root, 0))) / a, _MISS)


def _frustum_depth(body: Round, o: NDArray[np.float64], d: Array) -> tuple[Array, NDArray[np.int8]]:
    """Nearest depth, and which surface it is on: 0 side, -1 top disc, 1 foot disc."""
    # x^2 + z^2 = (r + k h)^2 with h = -y the height above the foot and k the slope of the side
    k = (body.radius_top - body.radius) / body.height
    start, slope = body.radius - k * o[1], -k * d[1]
    a = d[0] ** 2 + d[2] ** 2 - slope**2
    b = o[0] * d[0] + o[2] * d[2] - start * slope
    root = b * b - a * (o[0] ** 2 + o[2] ** 2 - start**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        side = (-b - np.sqrt(np.where(root > 0, root, 0))) / a
        height = -(o[1] + side * d[1])
        best = np.where((root > 0) & (side > 1e-3) & (height >= 0) & (height <= body.height), side, _MISS)
        which = np.zeros(best.shape, np.int8)
        for level, radius, sign in ((body.height, body.radius_top, -1), (0.0, body.radius, 1)):
            reach = (-level - o[1]) / d[1]
            inside = (o[0] + reach * d[0]) ** 2 + (o[2] + reach * d[2]) ** 2 <= radius**2
            closer = inside & (reach > 1e-3) & (reach < best)
            best = np.where(closer, reach, best)
            which = np.where(closer, np.int8(sign), which)
    return best, which


def _frustum_surface(body: Round, o: NDArray[np.float64], d: Array) -> Surface:
    depth, which = _frustum_depth(body, o, d)
    on_disc = which != 0
    depth = np.where(np.isfinite(depth), depth, -(o @ d) / (d * d).sum(axis=0))
    x, y, z = (o[axis] + depth * d[axis] for axis in range(3))
    k = (body.radius_top - body.radius) / body.height
    lean, length = 1 / np.sqrt(1 + k * k), np.sqrt(x * x + z * z) + 1e-9
    normal = np.stack(
        [np.where(on_disc, 0, x / length * lean), np.where(on_disc, which, k * lean), np.where(on_disc, 0, z / length * lean)]
    )
    rim = max(body.radius_top, 1e-6)
    u = np.where(on_disc, 0.5 + 0.5 * x / rim, np.arctan2(x, -z) / (2 * np.pi) + 0.5)
    v = np.where(on_disc, 0.5 + 0.5 * z / rim, 1 + y / body.height)
    return Surface(np.clip(u, 0, 1), np.clip(v, 0, 1), normal, depth, on_disc)
