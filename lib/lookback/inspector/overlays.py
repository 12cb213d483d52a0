"""Pictures over a frame: masks, track, faces, depth, difference to another frame."""

from __future__ import annotations

import cv2
import numpy as np

from lookback.artifacts import Depth, FaceTracks, Masks

MASK_COLOUR = (230, 159, 0)
PERSON_COLOUR = (204, 121, 167)
FACE_COLOUR = (86, 180, 233)
TINT = 0.4
DEPTH_SAMPLES = 200_000  # values that a clip's depth range is read from
DIFFERENCE_GAIN = 2.5  # a difference of 100 grey levels is the brightest


def draw_mask(frame: np.ndarray, masks: Masks, index: int, colour: tuple[int, int, int] = MASK_COLOUR) -> np.ndarray:
    """Each mask of this frame as a tint with an outline; a frame that was not looked at has none."""
    painted = frame.copy()
    for row in masks.rows_at(index):
        mask = masks.resized(int(row), frame.shape[:2])
        painted[mask] = ((1 - TINT) * painted[mask] + TINT * np.array(colour)).astype(np.uint8)
        outlines, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        cv2.drawContours(painted, outlines, -1, colour, _thickness(frame))
    return painted


def draw_track(frame: np.ndarray, masks: Masks, index: int) -> np.ndarray:
    """Where the object's centre has been up to this frame, with gaps while it was out of view, and its box now."""
    painted = frame.copy()
    frames, boxes = masks.frame_index, masks.boxes
    until = int(np.searchsorted(frames, index, side="right"))
    centres = np.stack([boxes[:until, [0, 2]].mean(axis=1), boxes[:until, [1, 3]].mean(axis=1)], axis=1)
    seen = np.isfinite(centres).all(axis=1)
    for run in np.split(np.arange(until), np.flatnonzero(np.diff(seen.astype(int))) + 1):
        if len(run) and seen[run[0]]:
            cv2.polylines(painted, [centres[run].round().astype(np.int32)], False, MASK_COLOUR, _thickness(frame), cv2.LINE_AA)
    if until and frames[until - 1] == index and seen[-1]:
        left, top, right, bottom = (round(float(value)) for value in boxes[until - 1])
        cv2.rectangle(painted, (left, top), (right, bottom), MASK_COLOUR, _thickness(frame))
        cv2.circle(painted, tuple(centres[-1].round().astype(int).tolist()), 3 * _thickness(frame), MASK_COLOUR, -1, cv2.LINE_AA)
    return painted


def draw_faces(frame: np.ndarray, faces: FaceTracks, index: int) -> np.ndarray:
    """Faces with their track number; between sampled frames those of the nearest one, with its number."""
    found = faces.near(index)
    if found is None:
        return frame
    nearest, rows = found
    painted = frame.copy()
    suffix = "" if nearest == index else f" (frame {nearest})"
    size = max(0.45, frame.shape[1] / 1400)
    for box, track in zip(faces.box[rows], faces.track[rows], strict=True):
        left, top, right, bottom = (round(float(value)) for value in box)
        cv2.rectangle(painted, (left, top), (right, bottom), FACE_COLOUR, _thickness(frame))
        place = (left, max(round(26 * size), top - 4))
        for colour, width in (((0, 0, 0), 3 * _thickness(frame)), (FACE_COLOUR, _thickness(frame))):
            cv2.putText(painted, f"face {int(track)}{suffix}", place, cv2.FONT_HERSHEY_SIMPLEX, size, colour, width, cv2.LINE_AA)
    return painted


def depth_picture(frame: np.ndarray, maps: Depth, index: int) -> np.ndarray:
    """The nearest depth map, near is bright; the range is the clip's own, so that frames compare."""
    row, depth = maps.row_near(index), maps.depth
    sample = depth.reshape(-1)[:: max(1, depth.size // DEPTH_SAMPLES)].astype(np.float32)
    sample = sample[np.isfinite(sample) & (sample > 0)]
    near, far = np.percentile(sample, [2, 98]) if sample.size else (0.0, 1.0)
    scaled = np.clip((far - np.nan_to_num(depth[row].astype(np.float32), nan=far, posinf=far)) / max(far - near, 1e-6), 0, 1)
    picture = cv2.applyColorMap((scaled * 255).astype(np.uint8), cv2.COLORMAP_VIRIDIS)
    return cv2.cvtColor(cv2.resize(picture, (frame.shape[1], frame.shape[0])), cv2.COLOR_BGR2RGB)


def difference_picture(frame: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Mean absolute difference as a heat map: black is equal, bright differs; both at this frame's size."""
    if other.shape != frame.shape:
        other = cv2.resize(other, (frame.shape[1], frame.shape[0]), interpolation=cv2.INTER_AREA)
    difference = cv2.absdiff(frame, other).mean(axis=-1)
    picture = cv2.applyColorMap(np.clip(difference * DIFFERENCE_GAIN, 0, 255).astype(np.uint8), cv2.COLORMAP_INFERNO)
    return cv2.cvtColor(picture, cv2.COLOR_BGR2RGB)


def _thickness(frame: np.ndarray) -> int:
    return max(1, frame.shape[1] // 320)
