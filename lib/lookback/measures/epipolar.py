"""Epipolar geometry from known cameras."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.camera.poses import inverse
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_finite

MIN_BASELINE = 1e-6  # world units; a shorter one is numerical noise and spans no epipolar plane


def homogeneous(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N,2) -> (N,3) with a last coordinate of 1."""
    return np.column_stack([points, np.ones(len(points))])


def inverse_intrinsics(K: ArrayLike) -> NDArray[np.float64]:
    """K^-1 of a pinhole camera (3,3)."""
    matrix = require_finite(K, "K", ndim=2)
    if matrix.shape != (3, 3) or not abs(np.linalg.det(matrix)) > 0.0:
        raise NotScorable(Reason.INVALID_INPUT, f"K: a (3,3) matrix with an inverse is needed, not {matrix.tolist()}")
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def cross_matrix(vector: ArrayLike) -> NDArray[np.float64]:
    """[v]_x with [v]_x w = v x w."""
    x, y, z = np.asarray(vector, dtype=np.float64)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def fundamental_from_poses(K_i: ArrayLike, K_j: ArrayLike, c2w_i: ArrayLike, c2w_j: ArrayLike) -> NDArray[np.float64]:
    """F = K_j^-T [t]_x R K_i^-1 with [R|t] = pose_j^-1 pose_i, so that p_j^T F p_i = 0 (Hartley and Zisserman, eq. 9.12).

    Two cameras at one place have no epipolar geometry: every F would be 0.
    """
    relative = inverse(require_finite(c2w_j, "c2w_j", ndim=2)) @ require_finite(c2w_i, "c2w_i", ndim=2)
    translation = relative[:3, 3]
    if not np.linalg.norm(translation) > MIN_BASELINE:
        raise NotScorable(Reason.NO_PARALLAX, "the two frames were taken from one place")
    essential = cross_matrix(translation) @ relative[:3, :3]
    return inverse_intrinsics(K_j).T @ essential @ inverse_intrinsics(K_i)


def epipolar_distances(
    points_i: NDArray[np.float64], points_j: NDArray[np.float64], fundamental: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """d(p_i, F^T p_j) in frame i and d(p_j, F p_i) in frame j, in pixels, for matches (N,2)."""
    if fundamental.shape != (3, 3) or not np.isfinite(fundamental).all():
        raise NotScorable(Reason.INVALID_INPUT, f"fundamental: must be a finite (3,3) matrix, not {fundamental.shape}")
    if not np.abs(fundamental).max() > 0.0:
        raise NotScorable(Reason.NO_PARALLAX, "the fundamental matrix is zero")
    p_i, p_j = homogeneous(points_i), homogeneous(points_j)
    lines_i, lines_j = p_j @ fundamental, p_i @ fundamental.T
    residual = np.abs((p_j * lines_j).sum(axis=1))
    norm_i, norm_j = np.hypot(lines_i[:, 0], lines_i[:, 1]), np.hypot(lines_j[:, 0], lines_j[:, 1])
    if not (norm_i.min() > 0.0 and norm_j.min() > 0.0):
        raise NotScorable(Reason.UNDEFINED, "a match lies on the epipole, where there is no epipolar line")
    return residual / norm_i, residual / norm_j
