"""Solve the motion of one segment and the inverse depth of its points together.

A keyframe point at normalised coordinates m and inverse depth q is seen in frame t at the projection of R_t m + q t_t. All poses
and inverse depths are refined at once by reweighted Levenberg-Marquardt steps with the depths eliminated (Schur complement),
starting from a two-view motion. Unit: the baseline to the reference frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from lookback.backends.pose.classical.rotation import newton_step, skew
from lookback.backends.pose.classical.selection import Candidate

ROUNDS = 12
JOINT_FRAMES = 8  # solved together; the other frames are fitted to the resulting depths
SCALE_PX = 1.0
DEEPEST = 1e-6


@dataclass(frozen=True)
class Structure:
    """R_t (T,3,3) and t_t (T,3) from keyframe coordinates to frame t, inverse depths of the points (M,), and mean robust cost."""

    rotation: np.ndarray
    translation: np.ndarray
    inverse_depth: np.ndarray  # NaN where unknown or infinitely far
    cost: float


@dataclass
class _Problem:
    """Rays of the keyframe (M,3), observations (T,M,2) in normalised coordinates, and which observations are valid."""

    rays: np.ndarray
    seen: np.ndarray
    valid: np.ndarray
    focal: float

    def residual(
        self, rotation: np.ndarray, translation: np.ndarray, depth: np.ndarray, frames: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pixel residuals (T,M,2), turned rays (T,M,3), points (T,M,3)."""
        turned = self.rays @ np.swapaxes(rotation[frames], 1, 2)
        point = turned + depth[None, :, None] * translation[frames, None]
        z = np.where(point[..., 2:] > 0.05, point[..., 2:], 0.05)
        return (point[..., :2] / z - self.seen[frames]) * self.focal, turned, point

    def jacobians(
        self, turned: np.ndarray, point: np.ndarray, depth: np.ndarray, translation: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the residual by the pose (T,M,2,6: rotation, translation) and by the inverse depth (T,M,2)."""
        z = np.where(point[..., 2] > 0.05, point[..., 2], 0.05)
        by_point = np.zeros((*point.shape[:-1], 2, 3))
        by_point[..., 0, 0] = by_point[..., 1, 1] = self.focal / z
        by_point[..., :, 2] = -self.focal * point[..., :2] / z[..., None] ** 2
        by_pose = np.concatenate([-by_point @ skew(turned), by_point * depth[None, :, None, None]], axis=-1)
        return by_pose, (by_point @ translation[:, None, :, None])[..., 0]


def solve_structure(
    points: np.ndarray, tracks: np.ndarray, reference: int, start: Candidate, focal: float, centre: np.ndarray
) -> Structure:
    """`points` (M,2) in the keyframe, `tracks` (T,M,2) with NaN where lost; `start` is the motion to the reference frame."""
    seen = (tracks - centre) / focal
    valid = np.isfinite(seen).all(axis=-1)
    rays = np.concatenate([(points - centre) / focal, np.ones((len(points), 1))], axis=1)
    problem = _Problem(rays, np.where(valid[..., None], seen, 0.0), valid, focal)
    rotation, translation = np.tile(np.eye(3), (len(tracks), 1, 1)), np.zeros((len(tracks), 3))
    rotation[reference], translation[reference] = start.rotation, start.translation
    depth = _triangulate(problem, reference, start.rotation, start.translation)
    joint = np.unique(np.append(np.linspace(0, len(tracks) - 1, JOINT_FRAMES).round().astype(int), reference))
    _place(problem, joint, reference, rotation, translation, depth)
    depth = _refine(problem, joint, rotation, translation, depth)
    others = np.setdiff1d(np.arange(len(tracks)), joint)
    for frame in others:
        near = joint[np.argmin(np.abs(joint - frame))]
        rotation[frame], translation[frame] = rotation[near], translation[near]
        _resect(problem, int(frame), rotation, translation, depth)
    size = np.linalg.norm(translation[reference])
    if size > 1e-9:
        translation, depth = translation / size, depth * size
    residual, _, _ = problem.residual(rotation, translation, depth, np.arange(len(tracks)))
    squared = (residual**2).sum(axis=-1)
    cost = (squared / (SCALE_PX**2 + squared))[valid].mean()
    return Structure(rotation, translation, np.where(depth > 10 * DEEPEST, depth, np.nan), float(cost))


def _triangulate(problem: _Problem, frame: int, rotation: np.ndarray, translation: np.ndarray) -> np.ndarray:
    """Least-squares inverse depth from one pair: x (R m + q t)_z = (R m + q t)_x, and the same for y."""
    moved, seen = problem.rays @ rotation.T, problem.seen[frame]
    a = seen * translation[2] - translation[:2]
    b = moved[:, :2] - seen * moved[:, 2:]
    q = (a * b).sum(axis=1) / np.maximum((a**2).sum(axis=1), 1e-12)
    known = problem.valid[frame] & (q > 0)
    return np.where(known, q, np.median(q[known]) if known.any() else 1.0)


def _place(
    problem: _Problem, joint: np.ndarray, reference: int, rotation: np.ndarray, translation: np.ndarray, depth: np.ndarray
) -> None:
    """First poses of the joint frames, from the reference outwards. Each starts at the pose of its neighbour."""
    at = int(np.flatnonzero(joint == reference)[0])
    for order in (range(at + 1, len(joint)), range(at - 1, -1, -1)):
        for k in order:
            near = joint[k - 1] if k > at else joint[k + 1]
            rotation[joint[k]], translation[joint[k]] = rotation[near], translation[near]
            _resect(problem, int(joint[k]), rotation, translation, depth)


def _weights(residual: np.ndarray) -> np.ndarray:
    """Geman-McClure weights."""
    return 1.0 / (1.0 + (residual**2).sum(axis=-1) / SCALE_PX**2) ** 2


def _resect(problem: _Problem, frame: int, rotation: np.ndarray, translation: np.ndarray, depth: np.ndarray) -> None:
    """Fit the pose of one frame to known depths, in place. The loss starts wide and becomes narrow."""
    only = np.array([frame])
    for width in (16.0, 16.0, 8.0, 4.0, 2.0, 1.0, 1.0, 1.0):
        residual, turned, point = problem.residual(rotation, translation, depth, only)
        by_pose, _ = problem.jacobians(turned, point, depth, translation[only])
        weights = _weights(residual / width) * problem.valid[only]
        jacobian = by_pose.reshape(-1, 6)
        weighted = (by_pose * weights[..., None, None]).reshape(-1, 6).T
        delta = newton_step(weighted @ jacobian + 1e-6 * np.eye(6), weighted @ residual.ravel())
        rotation[frame] = Rotation.from_rotvec(delta[:3]).as_matrix() @ rotation[frame]
        translation[frame] += delta[3:]


def _refine(problem: _Problem, joint: np.ndarray, rotation: np.ndarray, translation: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Refine all joint poses (in place) and all depths (returned) at once."""
    damping, n = 1e-3, len(joint)
    best, kept = np.inf, (rotation[joint].copy(), translation[joint].copy(), depth.copy())
    for _ in range(ROUNDS):
        residual, turned, point = problem.residual(rotation, translation, depth, joint)
        squared = (residual**2).sum(axis=-1)
        cost = float((squared / (SCALE_PX**2 + squared))[problem.valid[joint]].sum())
        if cost < best:
            kept, best, damping = (rotation[joint].copy(), translation[joint].copy(), depth.copy()), cost, damping / 5
        else:
            rotation[joint], translation[joint], depth = kept[0], kept[1], kept[2]
            damping *= 20
            if damping > 1e3:
                break
            residual, turned, point = problem.residual(rotation, translation, depth, joint)
        by_pose, by_depth = problem.jacobians(turned, point, depth, translation[joint])
        weights = _weights(residual) * problem.valid[joint]
        flat, flat_weighted = by_pose.reshape(n, -1, 6), (by_pose * weights[..., None, None]).reshape(n, -1, 6)
        u = np.swapaxes(flat_weighted, 1, 2) @ flat
        gradient_pose = (np.swapaxes(flat_weighted, 1, 2) @ residual.reshape(n, -1, 1)).ravel()
        depth_weighted = by_depth * weights[..., None]
        v = (depth_weighted * by_depth).sum(axis=(0, 2))
        gradient_depth = (depth_weighted * residual).sum(axis=(0, 2))
        w = (np.swapaxes(by_pose, 2, 3) @ depth_weighted[..., None])[..., 0].transpose(0, 2, 1).reshape(6 * n, -1)
        v = v * (1 + damping) + 1e-9 * (1 + v.max(initial=0.0))
        system = np.zeros((6 * n, 6 * n))
        for t in range(n):
            block = slice(6 * t, 6 * t + 6)
            system[block, block] = u[t] + damping * np.diag(np.diag(u[t])) + 1e-9 * np.eye(6)
        system -= (w / v) @ w.T
        if not np.isfinite(system).all():
            break  # the last step diverged; the best state before it is kept
        delta = -np.linalg.lstsq(system, gradient_pose - (w / v) @ gradient_depth, rcond=1e-12)[0]
        depth = np.clip(depth - (gradient_depth + w.T @ delta) / v, DEEPEST, None)
        step = delta.reshape(n, 6)
        rotation[joint] = Rotation.from_rotvec(step[:, :3]).as_matrix() @ rotation[joint]
        translation[joint] += step[:, 3:]
    rotation[joint], translation[joint] = kept[0], kept[1]
    return kept[2]
