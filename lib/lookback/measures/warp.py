"""Warps of one frame into the view of another: by flow, by depth and cameras, by a homography."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.camera.poses import inverse
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Array
from lookback.measures.epipolar import inverse_intrinsics

OCCLUSION_TOLERANCE = 0.05  # relative depth difference above which a pixel is hidden in the other view
RANSAC_PIXELS = 3.0
MIN_HOMOGRAPHY_MATCHES = 4


def sample_bilinear(image: Array, x: NDArray[np.float32], y: NDArray[np.float32]) -> Array:
    """image(x, y) by bilinear interpolation; outside, the border pixel."""
    return cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)


def pixel_grid(height: int, width: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """x and y of every pixel, each (H,W)."""
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    return x, y


def flow_warp(image: Array, flow: NDArray[np.float32]) -> Array:
    """image(x + flow(x)): with the flow from frame i to j, image j seen at the pixels of i."""
    x, y = pixel_grid(*flow.shape[:2])
    return sample_bilinear(image, x + flow[..., 0], y + flow[..., 1])


def depth_warp(
    image_j: Array,
    depth_i: ArrayLike,
    K_i: ArrayLike,
    K_j: ArrayLike,
    c2w_i: ArrayLike,
    c2w_j: ArrayLike,
    *,
    depth_j: ArrayLike | None = None,
) -> tuple[Array, NDArray[np.bool_]]:
    """Frame j seen from view i, and the pixels of i it fills.

    Every pixel of i is lifted by its z-depth, carried into camera j and looked up there: W_{j->i} of MBench eq. 4. A pixel is
    filled when it lands in front of and inside frame j and, with `depth_j`, is not hidden there behind something nearer.
    """
    depth = np.asarray(depth_i, dtype=np.float64)
    height, width = depth.shape
    grid_x, grid_y = pixel_grid(height, width)
    pixels = np.stack([grid_x, grid_y, np.ones_like(grid_x)], axis=-1).astype(np.float64).reshape(-1, 3)
    known = np.isfinite(depth) & (depth > 0)
    lifted = (pixels @ inverse_intrinsics(K_i).T) * np.where(known, depth, 1.0).reshape(-1, 1)
    relative = inverse(np.asarray(c2w_j, dtype=np.float64)) @ np.asarray(c2w_i, dtype=np.float64)
    in_j = lifted @ relative[:3, :3].T + relative[:3, 3]
    front = in_j[:, 2] > 1e-9
    projected = in_j @ np.asarray(K_j, dtype=np.float64).T / np.where(front, in_j[:, 2], 1.0)[:, None]
    x, y = (projected[:, axis].reshape(height, width).astype(np.float32) for axis in (0, 1))
    height_j, width_j = image_j.shape[:2]
    valid = known & front.reshape(height, width) & (x >= -0.5) & (y >= -0.5) & (x <= width_j - 0.5) & (y <= height_j - 0.5)
    if depth_j is not None:
        seen = sample_bilinear(np.asarray(depth_j, dtype=np.float32), x, y)
        valid &= in_j[:, 2].reshape(height, width) <= seen * (1.0 + OCCLUSION_TOLERANCE)
    return sample_bilinear(image_j, x, y), valid


def homography_warp(
    image_j: Array, points_i: NDArray[np.float64], points_j: NDArray[np.float64], size: tuple[int, int]
) -> tuple[Array, NDArray[np.bool_]]:
    """Frame j in view i (height, width) by the homography of their matches, and the pixels it fills: the fallback without depth."""
    if len(points_i) < MIN_HOMOGRAPHY_MATCHES:
        raise NotScorable(Reason.TOO_FEW_MATCHES, f"{len(points_i)} matches, a homography needs {MIN_HOMOGRAPHY_MATCHES}")
    matrix, _ = cv2.findHomography(points_j, points_i, cv2.RANSAC, RANSAC_PIXELS)
    if matrix is None:
        raise NotScorable(Reason.TOO_FEW_MATCHES, "no homography explains the matches")
    height, width = size
    warped = cv2.warpPerspective(image_j, matrix, (width, height), flags=cv2.INTER_LINEAR)
    inside = cv2.warpPerspective(np.ones(image_j.shape[:2], np.uint8), matrix, (width, height), flags=cv2.INTER_NEAREST)
    return warped, inside.astype(bool)
