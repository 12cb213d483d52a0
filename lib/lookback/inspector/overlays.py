"""Overlays on a frame: masks, track, faces, depth, difference to another frame, epipolar lines.

`LAYERS` names the overlays and the artifacts they need. `missing_overlays` says what a clip lacks, `paint` draws the chosen ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import cv2
import numpy as np

from lookback.artifacts import Artifact, Depth, FaceTracks, Masks, People, PoseTrack
from lookback.clips import Clip
from lookback.errors import NotScorable
from lookback.inspector.run import RunView
from lookback.measures.geometry import fundamental_from_poses

Point = tuple[float, float]
MASK_COLOUR = (230, 159, 0)
PERSON_COLOUR = (204, 121, 167)
FACE_COLOUR = (86, 180, 233)
TINT = 0.4
DEPTH_SAMPLES = 200_000  # depth values used to find the range of a clip
DIFFERENCE_GAIN = 2.5  # a difference of about 100 grey levels is shown at full brightness
EPIPOLAR_COLOUR = (213, 94, 0)
# painted in this order: overlays that replace the picture come first
LAYERS: dict[str, tuple[type[Artifact], ...]] = {
    "depth": (Depth,),
    "difference": (),
    "mask": (Masks, People),
    "track": (Masks,),
    "faces": (FaceTracks,),
    "epipolar": (PoseTrack,),
}


@dataclass(frozen=True)
class Clicked:
    """A point that was clicked in a frame; x and y are shares of width and height."""

    frame: int
    x: float
    y: float

    def pixels(self, frame: np.ndarray) -> Point:
        return self.x * frame.shape[1], self.y * frame.shape[0]


def missing_overlays(run: RunView, clip: Clip) -> dict[str, str]:
    """The overlays that this clip lacks, each with the reason."""
    rows = run.of_clip("artifacts", clip.key).set_index("role")
    why = {}
    for name, kinds in LAYERS.items():
        roles = [kind.role for kind in kinds]
        stored = [role for role in roles if role in rows.index and rows.loc[role, "stored"]]
        if roles and not stored:
            first = roles[0]
            known = first in rows.index
            why[name] = (
                ": ".join(part for part in rows.loc[first, ["reason", "detail"]] if part)
                if known
                else "not extracted for this clip"
            )
    return why


def paint(
    run: RunView,
    clip: Clip,
    frame: np.ndarray,
    index: int,
    names: Collection[str],
    reference: Callable[[], np.ndarray],
    clicked: Clicked | None,
) -> np.ndarray:
    """The frame with the named overlays; `reference` returns the frame to compare it with."""
    original = frame
    for name in (name for name in LAYERS if name in names):
        if name == "difference":
            frame = difference_picture(original, reference())
        for found in (run.artifact(clip, kind) for kind in LAYERS[name]):
            if isinstance(found, Depth):
                frame = depth_picture(original, found, index)
            elif isinstance(found, Masks) and name == "track":
                frame = draw_track(frame, found, index)
            elif isinstance(found, Masks):
                colour = PERSON_COLOUR if isinstance(found, People) else MASK_COLOUR
                frame = draw_mask(frame, found, index, colour)
            elif isinstance(found, FaceTracks):
                frame = draw_faces(frame, found, index)
            elif isinstance(found, PoseTrack) and clicked is not None:
                frame = draw_epipolar(frame, found, clicked.pixels(original), clicked.frame, index)
    return frame


def draw_mask(frame: np.ndarray, masks: Masks, index: int, colour: tuple[int, int, int] = MASK_COLOUR) -> np.ndarray:
    """Every mask of this frame as a tint with an outline; frames without a mask stay unchanged."""
    painted = frame.copy()
    for row in masks.rows_at(index):
        mask = masks.resized(int(row), frame.shape[:2])
        painted[mask] = ((1 - TINT) * painted[mask] + TINT * np.array(colour)).astype(np.uint8)
        outlines, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        cv2.drawContours(painted, outlines, -1, colour, _thickness(frame))
    return painted


def draw_track(frame: np.ndarray, masks: Masks, index: int) -> np.ndarray:
    """The path of the object's centre up to this frame, with gaps while it was out of view, and its present box."""
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
    """Faces with their track number. Between sampled frames, the faces of the nearest sampled frame and its number."""
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
    """The nearest depth map; near is bright. All frames of a clip use the same range, so that they can be compared."""
    row, depth = maps.row_near(index), maps.depth
    sample = depth.reshape(-1)[:: max(1, depth.size // DEPTH_SAMPLES)].astype(np.float32)
    sample = sample[np.isfinite(sample) & (sample > 0)]
    near, far = np.percentile(sample, [2, 98]) if sample.size else (0.0, 1.0)
    scaled = np.clip((far - np.nan_to_num(depth[row].astype(np.float32), nan=far, posinf=far)) / max(far - near, 1e-6), 0, 1)
    picture = cv2.applyColorMap((scaled * 255).astype(np.uint8), cv2.COLORMAP_VIRIDIS)
    return cv2.cvtColor(cv2.resize(picture, (frame.shape[1], frame.shape[0])), cv2.COLOR_BGR2RGB)


def difference_picture(frame: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Mean absolute difference as a heat map: black means equal, bright means different."""
    if other.shape != frame.shape:
        other = cv2.resize(other, (frame.shape[1], frame.shape[0]), interpolation=cv2.INTER_AREA)
    difference = cv2.absdiff(frame, other).mean(axis=-1)
    picture = cv2.applyColorMap(np.clip(difference * DIFFERENCE_GAIN, 0, 255).astype(np.uint8), cv2.COLORMAP_INFERNO)
    return cv2.cvtColor(picture, cv2.COLOR_BGR2RGB)


def _thickness(frame: np.ndarray) -> int:
    return max(1, frame.shape[1] // 320)


def epipolar_line(pose: PoseTrack, point: Point, index_from: int, index_to: int) -> np.ndarray | None:
    """The line (a, b, c), ax + by + c = 0, in frame `index_to` on which a point of frame `index_from` must lie.

    None without parallax: the camera did not move, or its movement is unknown.
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
    """Where the point is after a pure turn of the camera, x' = K_j R_j^T R_i K_i^-1 x; None if it is behind the camera."""
    i, j = pose.row_near(index_from), pose.row_near(index_to)
    c2w, intrinsics = pose.c2w, pose.intrinsics
    ray = c2w[j, :3, :3].T @ c2w[i, :3, :3] @ np.linalg.inv(intrinsics[i]) @ np.array([*point, 1.0])
    if ray[2] <= 1e-6:
        return None
    x, y, _ = intrinsics[j] @ (ray / ray[2])
    return float(x), float(y)


def draw_epipolar(frame: np.ndarray, pose: PoseTrack, point: Point, index_from: int, index: int) -> np.ndarray:
    """A cross at the clicked point; in other frames its epipolar line, or a ring at its place if the camera only turned."""
    painted = frame.copy()
    thick = max(1, frame.shape[1] // 320)
    if index == index_from:
        place = (round(point[0]), round(point[1]))
        cv2.drawMarker(painted, place, EPIPOLAR_COLOUR, cv2.MARKER_CROSS, 14 * thick, thick, cv2.LINE_AA)
        return painted
    line = epipolar_line(pose, point, index_from, index)
    there = turned_to(pose, point, index_from, index) if line is None else None
    if line is not None:
        _draw_line(painted, line, thick)
    elif there is not None and max(map(abs, there)) < 10 * frame.shape[1]:
        cv2.circle(painted, (round(there[0]), round(there[1])), 6 * thick, EPIPOLAR_COLOUR, thick, cv2.LINE_AA)
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
    cv2.line(picture, start, end, EPIPOLAR_COLOUR, thick, cv2.LINE_AA)
