"""Two frames taken from one place: the camera only turned, and every point has exactly one place to be."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.camera.poses import inverse
from lookback.measures.epipolar import homogeneous, inverse_intrinsics


def rotation_transfer_error(
    points_i: NDArray[np.float64], points_j: NDArray[np.float64], K_i: ArrayLike, K_j: ArrayLike, c2w_i: ArrayLike, c2w_j: ArrayLike
) -> float:
    """Mean of |p_j - H p_i| and |p_i - H^-1 p_j| in pixels, H = K_j R K_i^-1 (the infinite homography)."""
    rotation = (inverse(np.asarray(c2w_j, dtype=np.float64)) @ np.asarray(c2w_i, dtype=np.float64))[:3, :3]
    forward = np.asarray(K_j, dtype=np.float64) @ rotation @ inverse_intrinsics(K_i)
    errors = []
    for matrix, source, target in ((forward, points_i, points_j), (np.linalg.inv(forward), points_j, points_i)):
        moved = homogeneous(source) @ matrix.T
        errors.append(np.linalg.norm(moved[:, :2] / moved[:, 2:] - target, axis=1).mean())
    return float(np.mean(errors))
