"""Follow points through a clip, frame by frame: KLT tracks between keyframes, and views to recognise a place again.

Memory holds two grey working images, the tracks (a few kB per frame) and at most `MAX_VIEWS` sets of descriptors, for any length of
the clip.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import cv2
import numpy as np

from lookback.backends.pose.classical.views import Describe, View, cell_of, describe_sift, match

WORKING_WIDTH = 480
MAX_POINTS = 220
MANY_POINTS = 100  # with this many points, descriptors of a smaller image are enough
MIN_POINTS = 12  # fewer tracks do not determine the camera motion
TEXTURED = 40  # features that both frames need before lost tracks mean a cut and not a blank wall
KEEP_SHARE = 0.5  # a new keyframe starts when a smaller share of its points is still followed
MAX_SHIFT = 0.3  # ... or when the points have moved by this share of the width
MAX_LENGTH = 90  # ... or after this many frames
MOVED_FAR, STAYING = 0.1, 0.25  # where points move by this share of the width, those that move by less of it than this stay behind
BACKWARD_PX = 0.7  # tracks that do not return to their start within this distance are dropped
VIEW_STRIDE = 8
MAX_VIEWS = 256
CRITERIA = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 20, 0.02)
WINDOW, LEVELS, MIN_EIGENVALUE = (15, 15), 4, 1e-4
CELLS = (5, 8)  # rows and columns of the grid in which corners are spread
SPACING = 7  # pixels between corners
NOISE_FLOOR = 2e-4  # smaller eigenvalues of the structure tensor are sensor noise or coding artefacts


@dataclass
class Segment:
    """The frames from one keyframe to the next (included), and the positions of the keyframe's points in them."""

    key: int
    points: np.ndarray  # (M,2) in the keyframe
    parent: np.ndarray  # (M,) the point of the previous segment that it continues, or -1
    linked: bool  # False after a cut: no track connects this keyframe with the frame before
    positions: list[np.ndarray] = field(default_factory=list)  # (M,2) per later frame, NaN where lost
    alive: np.ndarray = field(default_factory=lambda: np.empty(0, bool))

    @property
    def last(self) -> int:
        return self.key + len(self.positions)


@dataclass
class Link:
    """Points of two frames that were matched by descriptors, where the tracks ended."""

    first: int
    second: int
    points_first: np.ndarray
    points_second: np.ndarray


class PointTracker:
    """Follows points through the frames of one clip, in order."""

    def __init__(self, width: int, height: int, recognise: Describe = describe_sift):
        self.scale = min(1.0, WORKING_WIDTH / width)
        self.size = (max(16, round(width * self.scale)), max(16, round(height * self.scale)))
        self.segments: list[Segment] = []
        self.links: list[Link] = []
        self.views: list[View] = []  # SIFT, to measure how far two views are turned apart
        self.sightings: list[View] = []  # of the same frames, to recognise the first view
        self.cuts: list[int] = []
        self.n_frames = 0
        self.n_corners: list[int] = []
        self._previous: np.ndarray | None = None
        self._recognise = recognise
        self._stride = VIEW_STRIDE

    def push(self, frame: np.ndarray) -> None:
        grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
        if self.scale < 1:
            grey = cv2.resize(grey, self.size, interpolation=cv2.INTER_AREA)
        if self._previous is None:
            self._start_segment(grey, np.empty((0, 2), np.float32), np.empty(0, np.int64), linked=False)
        else:
            self._follow(grey)
        if self.n_frames % self._stride == 0:
            self._add_view(grey, self.n_frames)
        self._previous = grey
        self.n_frames += 1

    def close(self) -> None:
        """Describe the last frame too. There a clip that returns can be matched with its start."""
        if self._previous is not None and self.views[-1].frame != self.n_frames - 1:
            self._add_view(self._previous, self.n_frames - 1)
        self._previous = None

    def _start_segment(self, grey: np.ndarray, survivors: np.ndarray, parent: np.ndarray, linked: bool) -> None:
        fresh = detect_corners(grey, survivors, MAX_POINTS - len(survivors))
        points = np.concatenate([survivors, fresh]).astype(np.float32)
        parent = np.concatenate([parent, np.full(len(fresh), -1)])
        self.segments.append(Segment(self.n_frames, points, parent, linked, alive=np.ones(len(points), bool)))
        if len(self.n_corners) == self.n_frames:
            self.n_corners.append(len(points))

    def _follow(self, grey: np.ndarray) -> None:
        assert self._previous is not None
        segment = self.segments[-1]
        current = segment.positions[-1] if segment.positions else segment.points
        tracked = np.full_like(segment.points, np.nan)
        alive = segment.alive.copy()
        if alive.any():
            start = current[alive][:, None]
            moved, found = _lucas_kanade(self._previous, grey, start)
            back, returned = _lucas_kanade(grey, self._previous, moved)
            inside = ((moved[:, 0] >= 2) & (moved[:, 0] <= np.array(self.size) - 3)).all(axis=1)
            good = found & returned & inside & (np.linalg.norm(back - start, axis=2)[:, 0] < BACKWARD_PX)
            rows = np.flatnonzero(alive)
            alive[rows[~good]] = False
            tracked[rows[good]] = moved[good, 0]
        self.n_corners.append(int(alive.sum()))
        if self._lost(grey, int(alive.sum()), len(segment.points)):
            return
        segment.positions.append(tracked)
        segment.alive = alive
        shift = np.linalg.norm(tracked[alive] - segment.points[alive], axis=1)
        if self._used_up(shift, len(segment.points)) or len(segment.positions) >= MAX_LENGTH:
            self._start_segment(grey, tracked[alive], np.flatnonzero(alive), linked=True)

    def _used_up(self, shift: np.ndarray, n_points: int) -> bool:
        """Whether too few points are left, or they have moved far. Points that stay while others move far are not counted.

        They may lie on something fixed to the camera, and would keep a keyframe alive whose background is long out of sight.
        """
        farthest = float(np.percentile(shift, 90)) if len(shift) else 0.0
        counted = shift[shift > STAYING * farthest] if farthest > MOVED_FAR * self.size[0] else shift
        n_points -= len(shift) - len(counted)
        few = len(counted) < max(KEEP_SHARE * n_points, MIN_POINTS)
        return few or bool(np.median(counted) > MAX_SHIFT * self.size[0])

    def _lost(self, grey: np.ndarray, n_alive: int, n_points: int) -> bool:
        """True when the tracks ended although both frames have texture: a jump that descriptors can connect, or a cut."""
        if n_alive >= max(MIN_POINTS, 0.15 * n_points) or n_points < MIN_POINTS:
            return False
        assert self._previous is not None
        before = describe_sift(self._previous, self.n_frames - 1, textured=False)
        after = describe_sift(grey, self.n_frames, textured=False)
        if min(len(before.points), len(after.points)) < TEXTURED:
            return False
        first, second = match(before, after)
        if len(first) >= MIN_POINTS and _agree(first, second):
            self.links.append(Link(self.n_frames - 1, self.n_frames, first, second))
        else:
            self.cuts.append(self.n_frames)
        self._start_segment(grey, np.empty((0, 2), np.float32), np.empty(0, np.int64), linked=False)
        return True

    def _add_view(self, grey: np.ndarray, frame: int) -> None:
        textured = self.n_corners[-1] >= MANY_POINTS
        self.views.append(describe_sift(grey, frame, textured))
        own = self._recognise is not describe_sift
        self.sightings.append(self._recognise(grey, frame, textured) if own else self.views[-1])
        if len(self.views) > MAX_VIEWS:
            self.views = [self.views[0], *self.views[2::2]]
            self.sightings = [self.sightings[0], *self.sightings[2::2]]
            self._stride *= 2


def _lucas_kanade(before: np.ndarray, after: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The new positions of the points (n,1,2), and whether each was found."""
    guess = points.copy()
    moved, found, _ = cv2.calcOpticalFlowPyrLK(
        before, after, points, guess, None, None, WINDOW, LEVELS, CRITERIA, 0, MIN_EIGENVALUE
    )
    return np.asarray(moved), np.asarray(found)[:, 0] > 0


def _agree(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether at least half of the matches fit one homography."""
    _, inliers = cv2.findHomography(first, second, cv2.USAC_MAGSAC, 3.0)
    return inliers is not None and inliers.sum() >= max(MIN_POINTS, 0.5 * len(first))


def detect_corners(grey: np.ndarray, taken: np.ndarray, count: int) -> np.ndarray:
    """Up to `count` Shi-Tomasi corners (n,2), the strongest of each cell, none near a point of `taken`.

    J. Shi, C. Tomasi: Good features to track, CVPR 1994. Corners are spread over the image, so that a textured foreground does not
    outvote the background. The threshold is absolute: one relative to the strongest corner would give a plain wall no points as
    soon as an object with high contrast is in front of it.
    """
    if count <= 0:
        return np.empty((0, 2), np.float32)
    strength = cv2.cornerMinEigenVal(cv2.GaussianBlur(grey, (3, 3), 0.8), 5)
    peaks = (strength >= cv2.dilate(strength, np.ones((SPACING, SPACING)))) & (strength > NOISE_FLOOR)
    peaks[:8], peaks[-8:], peaks[:, :8], peaks[:, -8:] = False, False, False, False
    for x, y in np.rint(taken).astype(int):
        peaks[max(0, y - SPACING) : y + SPACING + 1, max(0, x - SPACING) : x + SPACING + 1] = False
    rows, columns = np.nonzero(peaks)
    if len(rows) == 0:
        return np.empty((0, 2), np.float32)
    order = np.argsort(-strength[rows, columns], kind="stable")
    rows, columns = rows[order], columns[order]
    cell = rows * CELLS[0] // grey.shape[0] * CELLS[1] + columns * CELLS[1] // grey.shape[1]
    held = cell_of(taken, grey.shape[::-1], CELLS)
    rank = np.empty(len(rows), np.int64)
    for name in np.unique(cell):
        inside = cell == name
        rank[inside] = np.arange(inside.sum()) + np.count_nonzero(held == name)
    chosen = np.lexsort((np.arange(len(rows)), rank))[:count]  # the best of every cell first, then the second best, ...
    return np.stack([columns[chosen], rows[chosen]], axis=1).astype(np.float32)
