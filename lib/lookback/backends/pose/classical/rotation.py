"""Rotation between two views of a camera that turns in place, robust to whatever moves by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

HYPOTHESES = 64
OUTLIER_PX = 2.5
VOTING_CELLS = (8, 5)  # columns, rows
MIN_SCALE_PX = 0.25  # tracks are not more exact than this


@dataclass(frozen=True)
class RotationFit:
    """x2 ~ rotation x1, with the pixel error of every point."""

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
    """Pixels of directions; those behind the camera go far away."""
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
    """The rotation the background agrees on: two-point hypotheses scored by truncated squares (MSAC), then reweighted steps.

    Every part of the image has one vote, shared by its points according to their `trust` (how well they followed the background so
    far). The error is the distance in pixels between a point of view 2 and the rotated point of view 1.
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
    """Weights by which every part of the image has one vote, however many points it holds: the background is what is wide."""
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
    residual = moved[:, :2] / depth[:, None] * focal + centre - target
    jacobian = np.zeros((len(rays), 2, 3))  # of the projection by the moved ray
    jacobian[:, 0, 0] = jacobian[:, 1, 1] = focal / depth
    jacobian[:, :, 2] = -focal * moved[:, :2] / depth[:, None] ** 2
    jacobian = (-jacobian @ skew(moved)).reshape(-1, 3)
    weights = np.repeat(1.0 / (1.0 + (residual**2).sum(axis=1)) ** 2, 2)
    weighted = (jacobian * weights[:, None]).T
    delta = newton_step(weighted @ jacobian + 1e-9 * np.eye(3), weighted @ residual.ravel())
    return Rotation.from_rotvec(delta).as_matrix() @ rotation, float(np.linalg.norm(delta))


def newton_step(system: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """-system^-1 gradient; no step where the points determine none (all of them on a line, or out of all bounds)."""
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
