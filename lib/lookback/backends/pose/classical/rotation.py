"""The rotation between two views of a camera that turns in place, and the focal length of such a camera.

The fit is robust against objects that move by themselves. The focal length is the one with which rotations explain pairs of views
best: a turn moves a point at the edge of the image further than a point at the centre, and how much further depends on the focal
length alone. Small turns show too little of this, and then the focal length stays unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

HYPOTHESES = 64
OUTLIER_PX = 2.5
VOTING_CELLS = (8, 5)  # columns, rows
MIN_SCALE_PX = 0.25  # tracks are not more exact than this
DEFAULT_FOV_DEG = 60.0
SEARCH_FOV_DEG = (25.0, 110.0)
STEPS = 18
MAX_ERROR_PX = 1.0  # pairs that no rotation explains better than this are not used
CLEAR = 1.25  # minimum ratio of the cost at 1.5 times (and 1/1.5 of) the best focal length to the best cost
Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class RotationFit:
    """A rotation with x2 ~ rotation x1, and the pixel error of every point."""

    rotation: np.ndarray  # (3,3), bearings of view 1 into view 2
    error: np.ndarray  # (n,) px
    inliers: np.ndarray  # (n,) bool


def bearings(points: np.ndarray, focal: float, centre: np.ndarray) -> np.ndarray:
    """Unit viewing directions (n,3) of pixels (n,2)."""
    rays = np.concatenate([(points - centre) / focal, np.ones((len(points), 1))], axis=1)
    return rays / np.linalg.norm(rays, axis=1, keepdims=True)


def wahba(first: np.ndarray, second: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """R that minimises sum w |second - R first|^2 over unit vectors (..., n, 3): Wahba's problem by SVD (Markley 1988)."""
    weighted = second if weights is None else second * weights[..., None]
    u, _, vt = np.linalg.svd(np.swapaxes(weighted, -1, -2) @ first)
    sign = np.ones((*u.shape[:-2], 3))
    sign[..., 2] = np.sign(np.linalg.det(u) * np.linalg.det(vt))
    return (u * sign[..., None, :]) @ vt


def project(rays: np.ndarray, focal: float, centre: np.ndarray) -> np.ndarray:
    """The pixels (..., n, 2) of viewing directions. Directions behind the camera become very distant pixels."""
    depth = np.where(rays[..., 2:] > 1e-3, rays[..., 2:], 1e-3)
    return rays[..., :2] / depth * focal + centre


def fit_rotation(
    first: np.ndarray,
    second: np.ndarray,
    focal: float,
    centre: np.ndarray,
    generator: np.random.Generator,
    trust: np.ndarray | None = None,
) -> RotationFit:
    """The rotation of the background: two-point hypotheses scored by truncated squares (MSAC), then reweighted steps.

    Every part of the image has one vote. Its points share the vote according to their `trust` (how well they have followed the
    background so far). The error is the distance in pixels between a point of view 2 and the rotated point of view 1.
    """
    rays_1, rays_2 = bearings(first, focal, centre), bearings(second, focal, centre)
    pairs = generator.integers(0, len(first), (HYPOTHESES, 2))
    candidates = np.concatenate([np.eye(3)[None], wahba(rays_1[pairs], rays_2[pairs])])
    moved = rays_1 @ np.swapaxes(candidates, 1, 2)
    squared = ((project(moved, focal, centre) - second) ** 2).sum(axis=-1)
    votes = area_votes(second, centre) * (1.0 if trust is None else trust)
    rotation = candidates[(np.minimum(squared, OUTLIER_PX**2) @ votes).argmin()]
    for _ in range(8):
        rotation, step = _reweighted_step(rotation, rays_1, second, focal, centre)
        if step < 1e-6:
            break
    error = np.linalg.norm(project(rays_1 @ rotation.T, focal, centre) - second, axis=1)
    return RotationFit(rotation, error, error < outlier_limit(error))


def area_votes(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Weights that give every part of the image one vote, however many points it has, because the background covers most parts."""
    cells = np.clip((points / (2 * centre + 1) * VOTING_CELLS).astype(int), 0, np.array(VOTING_CELLS) - 1)
    _, inverse, counts = np.unique(cells[:, 0] + VOTING_CELLS[0] * cells[:, 1], return_inverse=True, return_counts=True)
    return 1.0 / np.maximum(counts[inverse], 2)


def outlier_limit(error: np.ndarray) -> float:
    """Three robust standard deviations of the points that fit, between 1 px and OUTLIER_PX."""
    fitting = error[error < OUTLIER_PX]
    scale = max(MIN_SCALE_PX, 1.4826 * float(np.median(fitting)) / 1.177) if len(fitting) else OUTLIER_PX
    return float(np.clip(3.0 * scale, 1.0, OUTLIER_PX))


def _reweighted_step(
    rotation: np.ndarray, rays: np.ndarray, target: np.ndarray, focal: float, centre: np.ndarray
) -> tuple[np.ndarray, float]:
    """One Gauss-Newton step of the pixel error with Geman-McClure weights."""
    moved = rays @ rotation.T
    depth = np.maximum(moved[:, 2], 1e-3)
    x, y = moved[:, 0] / depth, moved[:, 1] / depth
    residual = np.stack([x, y], axis=1) * focal + centre - target
    z = moved[:, 2] / depth  # 1 but for points behind the camera
    jacobian = focal * np.stack([-x * y, z + x**2, -y, -z - y**2, x * y, x], axis=1).reshape(-1, 3)  # of the pixels by the turn
    weights = np.repeat(1.0 / (1.0 + (residual**2).sum(axis=1)) ** 2, 2)
    weighted = (jacobian * weights[:, None]).T
    delta = newton_step(weighted @ jacobian + 1e-9 * np.eye(3), weighted @ residual.ravel())
    return cv2.Rodrigues(delta)[0] @ rotation, float(np.linalg.norm(delta))


def newton_step(system: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """-system^-1 gradient; zero where the points determine no step (all on one line, or not finite)."""
    try:
        step = -np.linalg.solve(system, gradient)
    except np.linalg.LinAlgError:
        return np.zeros_like(gradient)
    return step if np.isfinite(step).all() else np.zeros_like(gradient)


def skew(vectors: np.ndarray) -> np.ndarray:
    """Cross-product matrices (n,3,3)."""
    out = np.zeros((*vectors.shape[:-1], 3, 3))
    x, y, z = np.moveaxis(vectors, -1, 0)
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -z, y, -x
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = z, -y, x
    return out


def focal_from_fov(fov_deg: float, width: float) -> float:
    return width / 2.0 / np.tan(np.radians(fov_deg) / 2.0)


def estimate_focal(pairs: list[Pair], width: float, centre: np.ndarray, seed: int) -> float | None:
    """Focal length in pixels, or None when the pairs do not determine it."""
    if not pairs:
        return None
    low, high = focal_from_fov(SEARCH_FOV_DEG[1], width), focal_from_fov(SEARCH_FOV_DEG[0], width)
    candidates = np.geomspace(low, high, STEPS)
    errors = np.array([_pair_errors(pairs, focal, centre, seed) for focal in candidates])  # (F, pairs)
    fitting = errors.min(axis=0) < MAX_ERROR_PX
    if fitting.sum() < 2:
        return None
    cost = np.sqrt((errors[:, fitting] ** 2).mean(axis=1) + MIN_SCALE_PX**2)
    best = int(cost.argmin())
    if not 0 < best < STEPS - 1:
        return None
    reach = round(np.log(1.5) / np.log(candidates[1] / candidates[0]))
    sides = [cost[max(0, best - reach)], cost[min(STEPS - 1, best + reach)]]
    if min(sides) < CLEAR * cost[best]:
        return None
    # vertex of the parabola through the best candidate and its neighbours, in log focal length
    left, middle, right = cost[best - 1 : best + 2]
    bend = left - 2 * middle + right
    offset = 0.5 * (left - right) / bend if bend > 0 else 0.0
    return float(candidates[best] * (candidates[1] / candidates[0]) ** offset)


def _pair_errors(pairs: list[Pair], focal: float, centre: np.ndarray, seed: int) -> list[float]:
    """Per pair, the mean error of the 70 % of points that fit best, so that objects that move by themselves do not count."""
    out = []
    for first, second in pairs:
        error = fit_rotation(first, second, focal, centre, np.random.default_rng(seed)).error
        out.append(float(np.sort(error)[: max(1, len(error) * 7 // 10)].mean()))
    return out
