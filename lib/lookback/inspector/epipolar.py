"""Where a clicked point may be in another frame: on its epipolar line, or at one place when the camera only turned."""

from __future__ import annotations

import cv2
import numpy as np

from lookback.artifacts import PoseTrack
from lookback.errors import NotScorable
from lookback.measures.geometry import fundamental_from_poses

COLOUR = (213, 94, 0)
Point = tuple[float, float]


def epipolar_line(pose: PoseTrack, point: Point, index_from: int, index_to: int) -> np.ndarray | None:
    """The line (a, b, c), ax + by + c = 0, in frame `index_to` on which a point of frame `index_from` must lie.

    None without parallax: the camera stood still, or the pose estimate says that it cannot tell.
    """
    i, j = pose.row_near(index_from), pose.row_near(index_to)
    c2w, intrinsics = pose.c2w, pose.intrinsics
    if not (pose.has_translation[i] and pose.has_translation[j]):
        return None
    try:
        return fundamental_from_poses(intrinsics[i], intrinsics[j], c2w[i], c2w[j]) @ np.array([*point, 1.0])
    except NotScorable:
        return None


def turned_to(pose: PoseTrack, point: Point, index_from: int, index_to: int) -> Point | None:
    """Where the point is after a pure turn of the camera, x' = K_j R_j^T R_i K_i^-1 x; None behind the camera."""
    i, j = pose.row_near(index_from), pose.row_near(index_to)
    c2w, intrinsics = pose.c2w, pose.intrinsics
    ray = c2w[j, :3, :3].T @ c2w[i, :3, :3] @ np.linalg.inv(intrinsics[i]) @ np.array([*point, 1.0])
    if ray[2] <= 1e-6:
        return None
    x, y, _ = intrinsics[j] @ (ray / ray[2])
    return float(x), float(y)


def draw_epipolar(frame: np.ndarray, pose: PoseTrack, point: Point, index_from: int, index: int) -> np.ndarray:
    """A cross where it was clicked; elsewhere its epipolar line, or (camera only turned) a ring where it must be."""
    painted = frame.copy()
    thick = max(1, frame.shape[1] // 320)
    if index == index_from:
        place = (round(point[0]), round(point[1]))
        cv2.drawMarker(painted, place, COLOUR, cv2.MARKER_CROSS, 14 * thick, thick, cv2.LINE_AA)
        return painted
    line = epipolar_line(pose, point, index_from, index)
    there = turned_to(pose, point, index_from, index) if line is None else None
    if line is not None:
        _draw_line(painted, line, thick)
    elif there is not None and max(map(abs, there)) < 10 * frame.shape[1]:
        cv2.circle(painted, (round(there[0]), round(there[1])), 6 * thick, COLOUR, thick, cv2.LINE_AA)
    return painted


def _draw_line(picture: np.ndarray, line: np.ndarray, thick: int) -> None:
    a, b, c = line
    height, width = picture.shape[:2]
    if abs(b) > abs(a):
        ends = [(0, -c / b), (width, -(c + a * width) / b)]
    elif abs(a) > 0:
        ends = [(-c / a, 0), (-(c + b * height) / a, height)]
    else:
        return
    start, end = ((int(np.clip(x, -1e5, 1e5)), int(np.clip(y, -1e5, 1e5))) for x, y in ends)
    cv2.line(picture, start, end, COLOUR, thick, cv2.LINE_AA)
