"""What tracks and views show before any path is solved: the motion of the picture, and where the first picture is seen again."""

from __future__ import annotations

import cv2
import numpy as np

from lookback.backends.pose.classical.tracking import CELLS, PointTracker, Segment
from lookback.backends.pose.classical.views import View, cell_of, match
from lookback.measures.camera_activity import fixed_cells

FEWEST_IN_CELL = 2
SUPPORT, SUPPORT_PX = 15, 3.0  # matches that must fit one homography before a view counts as the first one: chance gives up to 13


def picture_motion(tracker: PointTracker) -> np.ndarray:
    """(N,R,C,2) the median step of the points of each cell since the frame before, in widths; NaN where fewer than 2 are known."""
    motion = np.full((tracker.n_frames, *CELLS, 2), np.nan, np.float32)
    for segment in tracker.segments:
        before = segment.points
        for frame, after in enumerate(segment.positions, start=segment.key + 1):
            known = np.isfinite(after[:, 0]) & np.isfinite(before[:, 0])
            cells = cell_of(before[known], tracker.size, CELLS)
            steps = (after[known] - before[known]) / tracker.size[0]
            for cell in np.flatnonzero(np.bincount(cells, minlength=CELLS[0] * CELLS[1]) >= FEWEST_IN_CELL):
                motion[frame, cell // CELLS[1], cell % CELLS[1]] = np.median(steps[cells == cell], axis=0)
            before = after
    return motion


def leave_out_fixed(tracker: PointTracker, motion: np.ndarray) -> np.ndarray:
    """Drop the points and features on what is fixed to the camera; returns its cells (R,C)."""
    fixed = fixed_cells(motion)
    if fixed.any():
        for segment in tracker.segments:
            _forget(segment, fixed, tracker.size)
        tracker.views = [view.outside(fixed, tracker.size) for view in tracker.views]
        tracker.sightings = [view.outside(fixed, tracker.size) for view in tracker.sightings]
    return fixed


def _forget(segment: Segment, fixed: np.ndarray, size: tuple[int, int]) -> None:
    gone = fixed.ravel()[cell_of(segment.points, size, fixed.shape)]
    for positions in segment.positions:
        positions[gone] = np.nan


def first_view(views: list[View], size: tuple[int, int], n_frames: int) -> np.ndarray:
    """(N,) the share of the first picture that is in sight again, by the shift of its matches; 0: not found, NaN: not compared."""
    shares = np.full(n_frames, np.nan, np.float32)
    for view in views:
        shares[view.frame] = 1.0 if view.frame == 0 else _share(views[0], view, size)
    return shares


def _share(first: View, second: View, size: tuple[int, int]) -> float:
    before, after = match(first, second)
    if len(before) < SUPPORT:
        return 0.0
    _, inliers = cv2.findHomography(before, after, cv2.USAC_MAGSAC, SUPPORT_PX)
    if inliers is None or inliers.sum() < SUPPORT:
        return 0.0
    shift = np.abs(np.median((after - before)[inliers[:, 0] > 0], axis=0)) / size
    return float(np.prod(np.maximum(0.0, 1.0 - shift)))
