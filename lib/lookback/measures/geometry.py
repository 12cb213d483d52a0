"""Two views of one scene: matched points, epipolar lines, triangulation, and warps of one frame into the view of another."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.camera.poses import inverse
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Array, require_finite, require_images

RATIO = 0.75  # Lowe's ratio test
MIN_MATCHES = 8  # as many as the eight-point algorithm needs
MAX_FEATURES = 4000  # the strongest keypoints of a frame; bounds the matching time
Keypoints = tuple[NDArray[np.float64], NDArray[np.float32]]  # pixels (N,2) and descriptors (N,D)


def require_matches(points_i: ArrayLike, points_j: ArrayLike, min_matches: int = MIN_MATCHES) -> tuple[Array, Array]:
    """Two (N,2) arrays of matched pixels with N >= min_matches."""
    first, second = (
        require_finite(points, name, ndim=2, at_least=0) for points, name in ((points_i, "points_i"), (points_j, "points_j"))
    )
    if first.shape != second.shape or (len(first) and first.shape[1] != 2):
        raise NotScorable(Reason.INVALID_INPUT, f"points_i and points_j must both be (N,2), not {first.shape} and {second.shape}")
    if len(first) < min_matches:
        raise NotScorable(Reason.TOO_FEW_MATCHES, f"{len(first)} matches, at least {min_matches} are needed")
    return first, second


def match_sift(
    image_i: ArrayLike,
    image_j: ArrayLike,
    *,
    mask_i: ArrayLike | None = None,
    ratio: float = RATIO,
    max_features: int = MAX_FEATURES,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Matched pixels (N,2) of two images: SIFT keypoints, the ratio test both ways, and only pairs that choose each other.

    `mask_i` (H,W) limits the keypoints of the first image.
    """
    first = sift_keypoints(require_images(image_i, "image_i", ndim=3), mask_i, max_features)
    second = sift_keypoints(require_images(image_j, "image_j", ndim=3), None, max_features)
    return match_keypoints(first, second, ratio)


def match_keypoints(first: Keypoints, second: Keypoints, ratio: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Matched pixels (N,2) of two sets of keypoints that choose each other."""
    empty = np.zeros((0, 2))
    if min(len(first[0]), len(second[0])) < 2:  # the ratio test needs a second nearest
        return empty, empty
    forward, backward = _best_matches(first[1], second[1], ratio), _best_matches(second[1], first[1], ratio)
    i = np.flatnonzero(forward >= 0)
    i = i[backward[forward[i]] == i]
    # a corner with several orientations is several keypoints at one place: count it once
    matches = np.unique(np.hstack([first[0][i], second[0][forward[i]]]), axis=0)
    return matches[:, :2], matches[:, 2:]


def sift_keypoints(image: Array, mask: ArrayLike | None, max_features: int) -> Keypoints:
    """Pixel positions (N,2) and SIFT descriptors (N,128)."""
    picture = image if image.dtype == np.uint8 else np.round(image * 255.0).clip(0, 255).astype(np.uint8)
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    area = None if mask is None else np.asarray(mask).astype(np.uint8)
    keypoints, descriptors = cv2.SIFT.create(nfeatures=max_features).detectAndCompute(grey, area)
    if descriptors is None:
        return np.zeros((0, 2)), np.zeros((0, 128), np.float32)
    return np.array([point.pt for point in keypoints], dtype=np.float64), np.asarray(descriptors, dtype=np.float32)


def _best_matches(queries: NDArray[np.float32], candidates: NDArray[np.float32], ratio: float) -> NDArray[np.int64]:
    """For each query the index of its nearest candidate, or -1 when the second nearest is almost as near (ratio test).

    SIFT's numbers are whole and their sums stay below 2^24, so that the distances are exact in float32.
    """
    squared = (queries**2).sum(axis=1)[:, None] + (candidates**2).sum(axis=1)[None] - 2.0 * queries @ candidates.T
    nearest = np.argpartition(squared, 1, axis=1)[:, :2]
    pair = np.sqrt(np.maximum(np.take_along_axis(squared, nearest, axis=1), 0.0))
    first = pair.argmin(axis=1)
    rows = np.arange(len(queries))
    best = nearest[rows, first].astype(np.int64)
    best[pair[rows, first] >= ratio * pair[rows, 1 - first]] = -1
    return best


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

    Every pixel of i is lifted to 3D by its z-depth, moved into camera j and looked up there: W_{j->i} of MBench eq. 4. A pixel is
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
