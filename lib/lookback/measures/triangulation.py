"""Triangulation of matches and projection of the points, in homogeneous coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.camera.poses import inverse
from lookback.measures.checks import require_finite
from lookback.measures.epipolar import MIN_BASELINE, homogeneous, inverse_intrinsics


def triangulate(
    points_i: NDArray[np.float64], points_j: NDArray[np.float64], K_i: ArrayLike, K_j: ArrayLike, c2w_i: ArrayLike, c2w_j: ArrayLike
) -> NDArray[np.float64]:
    """World points (N,4), homogeneous, from matches (N,2): linear DLT in normalised image coordinates (Hartley and Zisserman 12.2).

    Cameras at one place see no depth: the point is then at infinity, in the mean direction of the two rays.
    """
    pose_i, pose_j = require_finite(c2w_i, "c2w_i", ndim=2), require_finite(c2w_j, "c2w_j", ndim=2)
    rays_i, rays_j = _rays(points_i, K_i), _rays(points_j, K_j)
    if not np.linalg.norm(pose_i[:3, 3] - pose_j[:3, 3]) > MIN_BASELINE:
        return _at_infinity(rays_i @ pose_i[:3, :3].T, rays_j @ pose_j[:3, :3].T)
    system = np.concatenate([_dlt_rows(rays_i, pose_i), _dlt_rows(rays_j, pose_j)], axis=1)
    return np.linalg.svd(system)[2][:, -1]


def project(points: NDArray[np.float64], K: ArrayLike, c2w: ArrayLike) -> NDArray[np.float64]:
    """Pixels (N,2) of homogeneous world points (N,4): K [R|t] X, divided by the last coordinate."""
    image = points @ inverse(np.asarray(c2w, dtype=np.float64))[:3].T @ np.asarray(K, dtype=np.float64).T
    return image[:, :2] / image[:, 2:]


def _rays(points: NDArray[np.float64], K: ArrayLike) -> NDArray[np.float64]:
    """Viewing rays (N,3) in the camera's axes with z = 1: K^-1 p."""
    return homogeneous(points) @ inverse_intrinsics(K).T


def _dlt_rows(rays: NDArray[np.float64], c2w: NDArray[np.float64]) -> NDArray[np.float64]:
    """The two equations per point, x P3 - P1 = 0 and y P3 - P2 = 0, as (N,2,4)."""
    camera = inverse(c2w)[:3]
    return rays[:, :2, None] * camera[2] - camera[None, :2]


def _at_infinity(directions_i: NDArray[np.float64], directions_j: NDArray[np.float64]) -> NDArray[np.float64]:
    mean = sum(directions / np.linalg.norm(directions, axis=1, keepdims=True) for directions in (directions_i, directions_j))
    return np.column_stack([mean, np.zeros(len(directions_i))])
