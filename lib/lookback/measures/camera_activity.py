"""Does the camera move, how far does it turn, does it come back, and can its path be trusted?

Two kinds of evidence speak beside the path itself, and both come from the picture alone:
- the motion of the picture, per cell of a grid. A static camera moves few cells, whatever its subject does. A path that says "no
  turn" while most cells slide to one side is wrong.
- how much of the first picture is found again in later frames. A camera that returns shows it again.
Parts that stay in place while the rest of the picture turns are fixed to the camera (a handlebar, a head in front). They are
left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label, median_filter

from lookback.camera.poses import Poses, pitch_deg, relative_to_first, rotation_angle_deg, turned_yaw_deg

Moves = Literal["none", "slight", "clear"]
Motion = NDArray[np.floating]  # (N,R,C,2) the step of each cell since the frame before, in widths of the picture; NaN where unknown

WINDOW = 8  # frames whose steps add up before they are compared: shorter ones measure noise
FEWEST_CELLS = 6
# Travel: how far the picture moves in the whole clip, in widths. Boundaries and softness were set on the labelled real clips
# (`bench/cameras_real.py` prints the table): still cameras stay below 0.09, slight ones are between 0.2 and 0.4.
UPPER, LOWER, REACH = 90, 40, 6.0  # percentiles of the cells; the upper one counts up to REACH times the lower one
STILL, CLEAR, SOFTNESS = 0.13, 0.40, 0.22
STILL_STEP = 0.002  # of a window; less is noise of the tracks
TURN_STEP = 0.06  # a window in which the picture slides sideways at least this far shows what is fixed to the camera
FIXED_SHARE, FIXED_WINDOWS = 0.45, 2  # a fixed part slides by a smaller share of the picture's slide, in this many windows
MOST_CELLS, SAME_WAY = 0.6, 0.7  # of the known cells move when a camera turns, and of these slide to the same side
UNTRUSTED, CHECKED = 0.5, 0.1  # the path must explain half of a slide of at least a tenth of the width
# Shares of the first picture in sight. A smaller share than OUT_OF_SIGHT: the first view is gone for the larger part. Smaller than
# WENT: the camera went away from it. It is back when it shows half of what was lost again, and at least SEEN_AGAIN.
OUT_OF_SIGHT, WENT, SEEN_AGAIN, REGAINED = 0.55, 0.85, 0.35, 0.5
VIEW_SOFTNESS, WENT_SOFTNESS, REGAINED_SOFTNESS = 0.1, 0.03, 0.12
FEWEST_POSES = 3
GRID = 24  # sample rays per image side


@dataclass(frozen=True)
class CameraActivity:
    """What the camera does in a clip. Probabilities are from 0 to 1."""

    moves: Moves
    p_moves: float  # the camera moves at all, slightly or clearly
    p_clear: float  # it moves clearly
    turn_degrees: float  # the farthest turn from the first view; a turn past 180 degrees keeps growing
    departs: float  # probability that the first view goes out of sight for the larger part
    returns: float  # probability that it left the first view and came back to it
    return_frame: int | None  # the first frame that shows the first view again
    return_row: int | None  # the row of that frame in the path
    trusted: bool  # the path explains what the picture shows
    why: str  # one sentence: why the path is not trusted, else what was seen
    lens_known: bool = True  # False where the field of view is assumed, so that angles are rough

    def describe(self) -> str:
        """One sentence for people."""
        if self.moves == "none":
            return "The camera does not move."
        how = "moves slightly" if self.moves == "slight" else "moves"
        about = "" if self.lens_known else "about "
        turn = f" and turns {about}{self.turn_degrees:.0f} deg" if self.trusted and self.turn_degrees >= 5 else ""
        back = f" and comes back at frame {self.return_frame}" if self.return_frame is not None else ""
        return f"The camera {how}{turn}{back}."


def camera_activity(
    c2w: Poses,
    intrinsics: NDArray[np.float64],
    frame_index: NDArray[np.int64],
    has_translation: NDArray[np.bool_],
    motion: Motion | None = None,
    first_view: NDArray[np.floating] | None = None,
    doubt: str = "",
) -> CameraActivity:
    """The activity of a camera path (N,4,4), with the evidence of its artifact where it has some.

    `motion` is the motion of the picture, `first_view` (N,) the share of the first picture that was found again (NaN: unknown).
    Without them the path itself is the only evidence, and it is believed, unless there is a `doubt` about it.
    """
    turn = turn_deg(c2w)
    travel = _path_travel(c2w, intrinsics, has_translation) if motion is None else picture_travel(motion)
    p_moves, p_clear = _above(travel, STILL), _above(travel, CLEAR)
    unexplained = doubt or ("" if motion is None else distrust(c2w, intrinsics, has_translation, motion))
    departs, returns, back = _departure(_in_sight(c2w, intrinsics, first_view, believed=not unexplained))
    back = back if returns * p_moves >= 0.5 else None
    moves: Moves = "clear" if p_clear >= 0.5 else "slight" if p_moves >= 0.5 else "none"
    return CameraActivity(
        moves,
        p_moves,
        p_clear,
        float(turn.max()),
        departs * p_moves,
        returns * p_moves,
        None if back is None else int(frame_index[back]),
        back,
        not unexplained,
        unexplained or f"the picture travels {travel:.2f} of its width, the farthest turn is {turn.max():.0f} deg",
    )


def turn_deg(c2w: Poses) -> NDArray[np.float64]:
    """(N,) the turn away from the first frame. Turns past 180 degrees keep growing where the camera turns about the vertical."""
    angle = rotation_angle_deg(np.eye(3), relative_to_first(c2w)[:, :3, :3])
    level = np.abs(pitch_deg(c2w)) < 45.0
    return np.where(level, np.maximum(angle, np.abs(turned_yaw_deg(c2w))), angle)


def picture_travel(motion: Motion) -> float:
    """How far the picture moves in the whole clip, in widths: the sum over windows of the motion of its cells.

    A moving subject covers few cells, so the lower percentile stays near zero and limits the upper one. A camera that goes forward
    moves the cells near the border more than those in the middle, so the upper percentile is the one that is summed up.
    """
    total = 0.0
    for _, steps, known in windows(motion, ~fixed_cells(motion)):
        size = np.linalg.norm(steps, axis=-1)[known]
        lower, upper = np.percentile(size, LOWER), np.percentile(size, UPPER)
        total += float(min(upper, REACH * lower)) if lower > STILL_STEP else 0.0
    return total


def fixed_cells(motion: Motion) -> NDArray[np.bool_]:
    """(R,C) cells that stay in place while the picture slides sideways: something is fixed to the camera there.

    Only a part that reaches the lower border counts: far things also stay in place when a camera goes forward or aside, and they
    are higher up. The fastest slides decide, because there every part of the scene slides.
    """
    slides, ratios = [], []
    for _, steps, known in windows(motion, np.ones(motion.shape[1:3], bool)):
        sideways = steps[..., 0]
        moving = known & (np.abs(sideways) > TURN_STEP / 2)
        turning = moving.sum() >= max(FEWEST_CELLS, MOST_CELLS * known.sum())  # else something walks past a still camera
        slide = float(np.median(sideways[moving])) if turning else 0.0
        if abs(slide) > TURN_STEP and np.mean(sideways[moving] * slide > 0) > SAME_WAY:
            slides.append(abs(slide))
            ratios.append(np.where(known, sideways / slide, np.nan))
    if len(slides) < FIXED_WINDOWS:
        return np.zeros(motion.shape[1:3], bool)
    fast = np.array(ratios)[np.array(slides) >= max(slides) / 2]
    known = np.isfinite(fast).sum(axis=0) >= min(FIXED_WINDOWS, len(fast))
    ratio = np.full(known.shape, np.inf)
    ratio[known] = np.nanmedian(fast[:, known], axis=0)
    parts, _ = label(np.abs(ratio) < FIXED_SHARE)
    return np.isin(parts, parts[-1][parts[-1] > 0])


def distrust(c2w: Poses, intrinsics: NDArray[np.float64], has_translation: NDArray[np.bool_], motion: Motion) -> str:
    """Why the path does not explain the motion of the picture; empty where it does.

    Compared is how far the typical cell slides in each window. A turn moves all cells alike; a step forward moves them apart.
    Windows with a known step of the camera are left out, because how far it moves the picture depends on the scene's depth.
    """
    predicted = predicted_motion(c2w, intrinsics, motion.shape[1], motion.shape[2])
    predicted = np.where(np.isfinite(motion), predicted, np.nan)
    seen = explained = 0.0
    n_known, n_windows = 0, len(range(1, len(motion), WINDOW))
    for frames, steps, known in windows(motion, ~fixed_cells(motion)):
        n_known += 1
        slide, turn = np.median(steps[known], axis=0), np.median(_way(predicted[frames])[known], axis=0)
        if np.linalg.norm(slide) > STILL_STEP * WINDOW and not has_translation[frames].any():
            seen += float(np.linalg.norm(slide))
            explained += float(np.linalg.norm(slide) - np.linalg.norm(slide - turn))
    if n_known < n_windows / 2:
        return f"in {n_windows - n_known} of {n_windows} parts of the clip too little of the picture can be followed"
    if seen > CHECKED and explained < UNTRUSTED * seen:
        share = 100 * max(0.0, explained / seen)
        return f"the picture slides {seen:.2f} of its width, and the path explains only {share:.0f} % of this"
    return ""


def predicted_motion(c2w: Poses, intrinsics: NDArray[np.float64], rows: int, columns: int) -> NDArray[np.float64]:
    """(N,R,C,2) how far the turns of a path move the middle of each cell, in widths of the picture."""
    matrix, (width, height) = np.broadcast_to(intrinsics, (len(c2w), 3, 3)), _size(intrinsics)
    x, y = np.meshgrid((np.arange(columns) + 0.5) * width / columns, (np.arange(rows) + 0.5) * height / rows)
    pixels = np.stack([x.ravel(), y.ravel(), np.ones(rows * columns)])
    step = np.swapaxes(c2w[1:, :3, :3], 1, 2) @ c2w[:-1, :3, :3]
    moved = matrix[1:] @ step @ np.linalg.inv(matrix[:-1]) @ pixels
    moved = moved[:, :2] / np.maximum(moved[:, 2:], 1e-3) - pixels[:2]
    out = np.zeros((len(c2w), rows, columns, 2))
    out[1:] = np.swapaxes(moved, 1, 2).reshape(-1, rows, columns, 2) / width
    return out


def view_overlap(rotation: NDArray[np.float64], intrinsics: NDArray[np.float64], size: tuple[float, float]) -> NDArray[np.float64]:
    """Share of the first image's pixels whose viewing ray falls inside each later image.

    `rotation` (N,3,3) turns the axes of camera t into those of camera 0. The share is exact for a camera that only turns. For a
    camera that also moves, it holds for what is far away.
    """
    width, height = size
    u, v = np.meshgrid((np.arange(GRID) + 0.5) * width / GRID, (np.arange(GRID) + 0.5) * height / GRID)
    pixels = np.stack([u.ravel(), v.ravel(), np.ones(GRID * GRID)])
    camera = np.broadcast_to(intrinsics, (len(rotation), 3, 3))
    rays = np.linalg.inv(camera[0]) @ pixels
    seen = camera @ (np.swapaxes(rotation, 1, 2) @ rays)  # (N,3,P)
    ahead = seen[:, 2] > 1e-9
    depth = np.where(ahead, seen[:, 2], 1.0)
    x, y = seen[:, 0] / depth, seen[:, 1] / depth
    inside = ahead & (x >= 0) & (x < width) & (y >= 0) & (y < height)
    overlap: NDArray[np.float64] = inside.mean(axis=1)
    return overlap


def _size(intrinsics: NDArray[np.float64]) -> tuple[float, float]:
    """Width and height of the picture, whose middle is the principal point."""
    matrix = intrinsics.reshape(-1, 3, 3)[0]
    return 2 * float(matrix[0, 2]) + 1, 2 * float(matrix[1, 2]) + 1


def _in_sight(
    c2w: Poses, intrinsics: NDArray[np.float64], first_view: NDArray[np.floating] | None, believed: bool
) -> NDArray[np.float64]:
    """(N,) the share of the first picture in sight; NaN where unknown.

    The smaller of what matching found and what the path says, where the path is believed: a subject that the camera takes along
    matches itself while its place is out of sight, and a path does not know that a place has changed.
    """
    overlap = view_overlap(relative_to_first(c2w)[:, :3, :3], intrinsics, _size(intrinsics))
    if first_view is None or np.isfinite(first_view).sum() < FEWEST_POSES:
        return overlap
    found = np.asarray(first_view, np.float64)
    return np.minimum(found, overlap) if believed else found


def windows(motion: Motion, cells: NDArray[np.bool_]) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.bool_]]]:
    """For each window with enough known cells: its frames, the way of every cell (R,C,2), and which cells are known.

    A cell is known when it was followed in at least half of the frames.
    """
    for start in range(1, len(motion), WINDOW):
        frames = slice(start, start + WINDOW)
        part = np.asarray(motion[frames], np.float64)
        known = cells & (np.isfinite(part[..., 0]).sum(axis=0) >= max(1, len(part) // 2))
        if known.sum() >= FEWEST_CELLS:
            yield frames, _way(part), known


def _way(part: NDArray[np.float64]) -> NDArray[np.float64]:
    """(R,C,2) the way of each cell over some frames, with unknown steps taken as the mean of the known ones."""
    counts = np.maximum(np.isfinite(part[..., :1]).sum(axis=0), 1)
    return np.nan_to_num(part).sum(axis=0) * len(part) / counts


def _path_travel(c2w: Poses, intrinsics: NDArray[np.float64], has_translation: NDArray[np.bool_]) -> float:
    """The travel of the picture that a path alone predicts: by its turns, and by its farthest step at a depth of one unit."""
    turned = picture_travel(predicted_motion(c2w, intrinsics, 5, 8))
    steps = np.linalg.norm(relative_to_first(c2w)[has_translation, :3, 3], axis=1)
    focal = float(intrinsics.reshape(-1, 3, 3)[0, 0, 0]) / _size(intrinsics)[0]
    return turned + focal * float(steps.max(initial=0.0))


def _departure(seen: NDArray[np.float64]) -> tuple[float, float, int | None]:
    """Probability that the first view goes out of sight, that the camera goes away and comes back, and the row where it is back.

    A camera that comes back and then goes farther away did come back. So a return counts after every departure that loses at least
    half as much of the first view as the farthest one does.
    """
    rows = np.flatnonzero(np.isfinite(seen))
    values = median_filter(seen[rows], 3, mode="nearest")  # one view alone may be mistaken for the first
    least = np.minimum.accumulate(values)  # of the first view so far
    lowest = float(least[-1])
    enough = np.maximum(SEEN_AGAIN, least + REGAINED * (1 - least))
    far = 1 - least >= (1 - lowest) / 2
    back = np.flatnonzero(far & (values >= enough))
    returns = _logistic(WENT - least, WENT_SOFTNESS) * _logistic((values - enough) / np.maximum(1 - least, 1e-6), REGAINED_SOFTNESS)
    departs = float(_logistic(np.float64(OUT_OF_SIGHT - lowest), VIEW_SOFTNESS))
    return departs, float(returns[far].max()), int(rows[back[0]]) if len(back) else None


def _logistic(value: NDArray[np.float64] | np.float64, softness: float) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-value / softness)), np.float64)


def _above(travel: float, boundary: float) -> float:
    """Probability that the camera is beyond the boundary: logistic in the logarithm of the travel."""
    return float(1 / (1 + (boundary / max(travel, 1e-6)) ** (1 / SOFTNESS)))
