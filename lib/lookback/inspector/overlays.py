"""Pictures over a frame: mask outline, face boxes, depth, difference to another frame, epipolar lines."""

from __future__ import annotations

import cv2
import numpy as np

from lookback.store import Entry

MASK_COLOUR = (230, 159, 0)
FACE_COLOUR = (86, 180, 233)
LINE_COLOUR = (213, 94, 0)


def draw_mask(frame: np.ndarray, entry: Entry, index: int) -> np.ndarray:
    """The object's mask as a tint with an outline, and its track so far as a line."""
    row = _row(entry, index)
    if row is None:
        return frame
    _, height, width = entry.record["shape"]
    mask: np.ndarray = np.unpackbits(entry.arrays["masks"][row], axis=-1)[..., :width].reshape(height, width)
    mask = cv2.resize(mask, (frame.shape[1], frame.shape[0]), interpolation=cv2.INTER_NEAREST)
    painted = frame.copy()
    painted[mask > 0] = (0.6 * painted[mask > 0] + 0.4 * np.array(MASK_COLOUR)).astype(np.uint8)
    outlines, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(painted, outlines, -1, MASK_COLOUR, max(1, frame.shape[1] // 320))
    return painted


def draw_track(frame: np.ndarray, entry: Entry, index: int) -> np.ndarray:
    """Where the object's centre has been up to this frame; gaps where it was out of view."""
    painted = frame.copy()
    frames, boxes = entry.arrays["frame_index"], entry.arrays["boxes"]
    centres = np.stack([boxes[:, [0, 2]].mean(axis=1), boxes[:, [1, 3]].mean(axis=1)], axis=1)
    for k in range(1, int(np.searchsorted(frames, index, side="right"))):
        if np.isfinite(centres[k - 1 : k + 1]).all():
            start, end = (tuple(int(value) for value in centres[j]) for j in (k - 1, k))
            cv2.line(painted, start, end, MASK_COLOUR, max(1, frame.shape[1] // 320), cv2.LINE_AA)
    return painted


def draw_faces(frame: np.ndarray, entry: Entry, index: int) -> np.ndarray:
    """Boxes of the faces found in the sampled frame nearest to this one, with their track number."""
    frames = entry.arrays["frame"]
    if len(frames) == 0:
        return frame
    nearest = frames[np.abs(frames - index).argmin()]
    painted = frame.copy()
    for box, track in zip(entry.arrays["box"][frames == nearest], entry.arrays["track"][frames == nearest], strict=True):
        left, top, right, bottom = (int(value) for value in box)
        cv2.rectangle(painted, (left, top), (right, bottom), FACE_COLOUR, max(1, frame.shape[1] // 320))
        cv2.putText(
            painted, f"face {int(track)}", (left, max(12, top - 4)), cv2.FONT_HERSHEY_SIMPLEX, 0.45, FACE_COLOUR, 1, cv2.LINE_AA
        )
    return painted


def depth_picture(frame: np.ndarray, entry: Entry, index: int) -> np.ndarray:
    """The nearest depth map, near is bright; the range is the clip's own, so that frames compare."""
    row = int(np.abs(entry.arrays["frame_index"] - index).argmin())
    depth = entry.arrays["depth"].astype(np.float32)
    finite = depth[np.isfinite(depth) & (depth > 0)]
    near, far = np.percentile(finite, [2, 98]) if finite.size else (0.0, 1.0)
    scaled = np.clip((far - np.nan_to_num(depth[row], nan=far)) / max(far - near, 1e-6), 0, 1)
    picture = cv2.applyColorMap((scaled * 255).astype(np.uint8), cv2.COLORMAP_VIRIDIS)
    return cv2.cvtColor(cv2.resize(picture, (frame.shape[1], frame.shape[0])), cv2.COLOR_BGR2RGB)


def difference_picture(frame: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Absolute difference as a heat map: black is equal, bright differs; both at this frame's size."""
    if other.shape != frame.shape:
        other = cv2.resize(other, (frame.shape[1], frame.shape[0]), interpolation=cv2.INTER_AREA)
    difference = np.abs(frame.astype(np.int16) - other.astype(np.int16)).mean(axis=-1)
    picture = cv2.applyColorMap(np.clip(difference * 2.5, 0, 255).astype(np.uint8), cv2.COLORMAP_INFERNO)
    return cv2.cvtColor(picture, cv2.COLOR_BGR2RGB)


def epipolar_line(pose: Entry, point: tuple[float, float], index_from: int, index_to: int) -> np.ndarray | None:
    """The line (a, b, c) in frame `index_to` on which a point of frame `index_from` must lie; None without parallax."""
    rows = [_row(pose, index) for index in (index_from, index_to)]
    if rows[0] is None or rows[1] is None:
        return None
    c2w, intrinsics = pose.arrays["c2w"], pose.arrays["intrinsics"]
    relative = np.linalg.inv(c2w[rows[1]]) @ c2w[rows[0]]
    translation = relative[:3, 3]
    if np.linalg.norm(translation) < 1e-6:
        return None
    cross = np.array(
        [[0, -translation[2], translation[1]], [translation[2], 0, -translation[0]], [-translation[1], translation[0], 0]]
    )
    essential = cross @ relative[:3, :3]
    fundamental = np.linalg.inv(intrinsics[rows[1]]).T @ essential @ np.linalg.inv(intrinsics[rows[0]])
    return fundamental @ np.array([*point, 1.0])


def draw_epipolar(frame: np.ndarray, pose: Entry, point: tuple[float, float], index_from: int, index: int) -> np.ndarray:
    """The clicked point where it was clicked; its epipolar line, or (camera only turned) the one place it must be."""
    painted = frame.copy()
    thick = max(1, frame.shape[1] // 320)
    if index == index_from:
        cv2.drawMarker(painted, (int(point[0]), int(point[1])), LINE_COLOUR, cv2.MARKER_CROSS, 14 * thick, thick, cv2.LINE_AA)
        return painted
    line = epipolar_line(pose, point, index_from, index)
    if line is not None:
        _draw_line(painted, line, thick)
        return painted
    rows = [_row(pose, number) for number in (index_from, index)]
    if rows[0] is not None and rows[1] is not None:
        c2w, intrinsics = pose.arrays["c2w"], pose.arrays["intrinsics"]
        ray = c2w[rows[1], :3, :3].T @ c2w[rows[0], :3, :3] @ np.linalg.inv(intrinsics[rows[0]]) @ np.array([*point, 1.0])
        if ray[2] > 1e-6:
            there = intrinsics[rows[1]] @ (ray / ray[2])
            cv2.circle(painted, (int(there[0]), int(there[1])), 6 * thick, LINE_COLOUR, thick, cv2.LINE_AA)
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
    cv2.line(picture, start, end, LINE_COLOUR, thick, cv2.LINE_AA)


def _row(entry: Entry, index: int) -> int | None:
    """The row that belongs to a frame, or the nearest one when the artifact is sampled."""
    frames = entry.arrays["frame_index"]
    return int(np.abs(frames - index).argmin()) if len(frames) else None
