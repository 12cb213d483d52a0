"""Camera poses as arrays: (N,4,4) camera-to-world, OpenCV axes (x right, y down, z forward), float64.

Signs: yaw is positive when the camera turns right, pitch when it looks up, roll when it leans to the right (clockwise as the
camera sees itself). Positions are in world units, angles in degrees.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.errors import ContractError

Poses = NDArray[np.float64]

ORTHONORMAL_TOLERANCE = 1e-3  # poses stored as float32 or text are this far from exact rotations at most


def validate_poses(poses: ArrayLike, where: str = "poses") -> Poses:
    """The poses as float64 (N,4,4), or a `ContractError` that names what is wrong and in which frame."""
    c2w = _numbers(poses, where)
    if c2w.ndim != 3 or c2w.shape[1:] != (4, 4) or len(c2w) == 0:
        raise ContractError(f"{where}: camera-to-world poses must have shape (N,4,4) with N >= 1, not {c2w.shape}.")
    finite = np.isfinite(c2w).all(axis=(1, 2))
    if not finite.all():
        raise ContractError(f"{where}: frame {int(np.argmin(finite))} has a pose that is not finite.")
    if not np.allclose(c2w[:, 3], [0.0, 0.0, 0.0, 1.0], atol=1e-6):
        raise ContractError(f"{where}: the last row of every pose must be 0 0 0 1.")
    rotation = c2w[:, :3, :3]
    error = np.abs(rotation @ rotation.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
    if error.max() > ORTHONORMAL_TOLERANCE:
        raise ContractError(f"{where}: frame {int(np.argmax(error))} is no rotation (orthonormal up to {error.max():.3g}).")
    determinant = np.linalg.det(rotation)
    if determinant.min() < 0:
        raise ContractError(f"{where}: frame {int(np.argmin(determinant))} is mirrored (determinant -1).")
    return c2w


def square(poses: ArrayLike, where: object = "poses") -> Poses:
    """Poses (N,3,4) or (N,4,4) as (N,4,4)."""
    stack = _numbers(poses, where)
    if stack.ndim == 4 and stack.shape[0] == 1:
        stack = stack[0]
    if stack.ndim != 3 or stack.shape[1:] not in ((3, 4), (4, 4)):
        raise ContractError(f"{where}: poses must have shape (N,3,4) or (N,4,4), not {stack.shape}")
    if stack.shape[1] == 4:
        return stack
    bottom = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (len(stack), 1, 4))
    return np.concatenate([stack, bottom], axis=1)


def _numbers(poses: ArrayLike, where: object) -> Poses:
    try:
        return np.asarray(poses, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise ContractError(f"{where}: camera-to-world poses are no array of numbers ({problem}).") from None


def inverse(c2w: ArrayLike) -> Poses:
    """Rigid inverse of one pose or of a stack: [R t]^-1 = [R^T -R^T t]. Turns c2w into w2c and back."""
    pose = np.asarray(c2w, dtype=np.float64)
    out = np.zeros_like(pose)
    rotation_t = np.swapaxes(pose[..., :3, :3], -1, -2)
    out[..., :3, :3] = rotation_t
    out[..., :3, 3] = -(rotation_t @ pose[..., :3, 3:4])[..., 0]
    out[..., 3, 3] = 1.0
    return out


def relative_to_first(c2w: ArrayLike) -> Poses:
    """P_0^-1 P_t: the same path with frame 0 at the identity."""
    poses = np.asarray(c2w, dtype=np.float64)
    return inverse(poses[0]) @ poses


def align_first_frame(target: ArrayLike, prediction: ArrayLike) -> Poses:
    """P' = T_0 P_0^-1 P: the prediction moved rigidly so that its first frame is the target's (WRBench, MemoBench)."""
    moved: Poses = np.asarray(target, dtype=np.float64)[0] @ relative_to_first(prediction)
    return moved


def rotation_angle_deg(rotation_a: ArrayLike, rotation_b: ArrayLike) -> NDArray[np.float64]:
    """Geodesic angle between rotations (…,3,3) in degrees, exact near 0 and 180.

    With R = A^T B: angle = atan2(|vee(R - R^T)| / 2, (tr R - 1) / 2). The usual acos of the trace loses half the digits near 0.
    """
    a = np.asarray(rotation_a, dtype=np.float64)[..., :3, :3]
    b = np.asarray(rotation_b, dtype=np.float64)[..., :3, :3]
    relative = np.swapaxes(a, -1, -2) @ b
    skew = np.stack(
        [
            relative[..., 2, 1] - relative[..., 1, 2],
            relative[..., 0, 2] - relative[..., 2, 0],
            relative[..., 1, 0] - relative[..., 0, 1],
        ],
        axis=-1,
    )
    cosine = (np.trace(relative, axis1=-2, axis2=-1) - 1.0) / 2.0
    angle: NDArray[np.float64] = np.degrees(np.arctan2(np.linalg.norm(skew, axis=-1) / 2.0, cosine))
    return angle


def yaw_deg(c2w: ArrayLike) -> NDArray[np.float64]:
    """yaw(t) = atan2(R02, R00) relative to frame 0 (WRBench); right is positive, so a positive peak is "RL"."""
    relative = relative_to_first(c2w)
    return np.degrees(np.arctan2(relative[:, 0, 2], relative[:, 0, 0]))


def turned_yaw_deg(c2w: ArrayLike) -> NDArray[np.float64]:
    """Yaw relative to frame 0 without jumps: a turn past 180 degrees keeps growing."""
    return np.unwrap(yaw_deg(c2w), period=360.0)


def pitch_deg(c2w: ArrayLike) -> NDArray[np.float64]:
    """Elevation of the viewing direction relative to frame 0; up is positive."""
    relative = relative_to_first(c2w)
    return np.degrees(np.arctan2(-relative[:, 1, 2], np.hypot(relative[:, 0, 2], relative[:, 2, 2])))


def signed_peak(values: NDArray[np.float64]) -> float:
    """The value of largest magnitude, with its sign."""
    return float(values[np.argmax(np.abs(values))])


def total_rotation_deg(c2w: ArrayLike) -> float:
    """Length of the rotation path: the sum of the angles between consecutive frames."""
    poses = np.asarray(c2w, dtype=np.float64)
    return float(rotation_angle_deg(poses[:-1], poses[1:]).sum())


def net_rotation_deg(c2w: ArrayLike) -> float:
    """Angle between the first and the last frame (MemoBench's Theta)."""
    poses = np.asarray(c2w, dtype=np.float64)
    return float(rotation_angle_deg(poses[0], poses[-1]))


def from_yaw_pitch_roll(
    yaw: ArrayLike, pitch: ArrayLike = 0.0, roll: ArrayLike = 0.0, position: ArrayLike = (0.0, 0.0, 0.0)
) -> Poses:
    """R = R_y(yaw) R_x(pitch) R_z(roll) in degrees, at `position` (…,3); scalars give (4,4), arrays of N give (N,4,4)."""
    y, p, r = np.broadcast_arrays(*(np.radians(np.asarray(angle, dtype=np.float64)) for angle in (yaw, pitch, roll)))
    cy, sy, cp, sp, cr, sr = np.cos(y), np.sin(y), np.cos(p), np.sin(p), np.cos(r), np.sin(r)
    pose = np.zeros((*y.shape, 4, 4))
    pose[..., 0, 0], pose[..., 0, 1], pose[..., 0, 2] = cy * cr + sy * sp * sr, -cy * sr + sy * sp * cr, sy * cp
    pose[..., 1, 0], pose[..., 1, 1], pose[..., 1, 2] = cp * sr, cp * cr, -sp
    pose[..., 2, 0], pose[..., 2, 1], pose[..., 2, 2] = -sy * cr + cy * sp * sr, sy * sr + cy * sp * cr, cy * cp
    pose[..., :3, 3] = np.asarray(position, dtype=np.float64)
    pose[..., 3, 3] = 1.0
    return pose


def look_at(eye: ArrayLike, target: ArrayLike, down: ArrayLike = (0.0, 1.0, 0.0)) -> Poses:
    """The (4,4) pose at `eye` that looks at `target`, with `down` the world direction that points down in the image."""
    position = np.asarray(eye, dtype=np.float64)
    forward = np.asarray(target, dtype=np.float64) - position
    if not np.linalg.norm(forward) > 0:
        raise ContractError("look_at: eye and target are the same point, so there is no viewing direction.")
    forward = forward / np.linalg.norm(forward)
    right = np.cross(np.asarray(down, dtype=np.float64), forward)
    if np.linalg.norm(right) < 1e-9:
        raise ContractError("look_at: the viewing direction is vertical; give another `down` direction.")
    right = right / np.linalg.norm(right)
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3] = right, np.cross(forward, right), forward, position
    return pose
