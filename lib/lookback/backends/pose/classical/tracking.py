"""Following points through a clip, frame by frame: KLT tracks in keyframe segments, and SIFT views to recognise a place again.

Memory: two grey working images, the tracks (some kB a frame) and at most `MAX_VIEWS` sets of descriptors, however long the clip is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import cv2
import numpy as np

from lookback.backends.pose.classical.corners import detect_corners
from lookback.backends.pose.classical.views import View, describe, match

WORKING_WIDTH = 480
MAX_POINTS = 220
MANY_POINTS = 100  # with so many points, descriptors of a smaller image do
MIN_POINTS = 12  # fewer tracks than this say nothing about the camera
TEXTURED = 40  # features both frames need before lost tracks can mean a cut rather than a blank wall
KEEP_SHARE = 0.5  # a new keyframe starts when fewer of its points are still followed
MAX_SHIFT = 0.3  # ... or when they have moved by this share of the image's width
MAX_LENGTH = 90  # ... or after this many frames
BACKWARD_PX = 0.7  # tracks that do not lead back to their start within this are dropped
VIEW_STRIDE = 8
MAX_VIEWS = 256
CRITERIA = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 20, 0.02)
WINDOW, LEVELS, MIN_EIGENVALUE = (15, 15), 4, 1e-4


@dataclass
class Segment:
    """The frames from one keyframe up to and including the next, and where the keyframe's points are in them."""

    key: int
    points: np.ndarray  # (M,2) in the keyframe
    parent: np.ndarray  # (M,) which point of the previous segment it continues, or -1
    linked: bool  # False after a cut: nothing ties this keyframe to the frame before
    positions: list[np.ndarray] = field(default_factory=list)  # (M,2) per later frame, NaN where lost
    alive: np.ndarray = field(default_factory=lambda: np.empty(0, bool))

    @property
    def last(self) -> int:
        return self.key + len(self.positions)


@dataclass
class Link:
    """Points of two frames that were matched by descriptors where the tracks broke off."""

    first: int
    second: int
    points_first: np.ndarray
    points_second: np.ndarray


class PointTracker:
    """Takes the frames of one clip in order."""

    def __init__(self, width: int, height: int):
        self.scale = min(1.0, WORKING_WIDTH / width)
        self.size = (max(16, round(width * self.scale)), max(16, round(height * self.scale)))
        self.segments: list[Segment] = []
        self.links: list[Link] = []
        self.views: list[View] = []
        self.cuts: list[int] = []
        self.n_frames = 0
        self.n_corners: list[int] = []
        self._previous: np.ndarray | None = None

        self._stride = VIEW_STRIDE

    def push(self, frame: np.ndarray) -> None:
        grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
        if self.scale < 1:
            grey = cv2.resize(grey, self.size, interpolation=cv2.INTER_AREA)
        if self._previous is None:
            self._open(grey, np.empty((0, 2), np.float32), np.empty(0, np.int64), linked=False)
        else:
            self._follow(grey)
        if self.n_frames % self._stride == 0:
            self._add_view(grey)
        self._previous = grey
        self.n_frames += 1

    def close(self) -> None:
        """Describe the last frame too: it is where a clip that returns has to meet its start."""
        if self._previous is not None and self.views[-1].frame != self.n_frames - 1:
            self.views.append(describe(self._previous, self.n_frames - 1, textured=self.n_corners[-1] >= MANY_POINTS))
        self._previous = None

    def _open(self, grey: np.ndarray, survivors: np.ndarray, parent: np.ndarray, linked: bool) -> None:
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
        moved_on = alive.any() and np.median(shift) > MAX_SHIFT * self.size[0]
        if (
            alive.sum() < KEEP_SHARE * len(segment.points)
            or alive.sum() < MIN_POINTS
            or moved_on
            or len(segment.positions) >= MAX_LENGTH
        ):
            self._open(grey, tracked[alive], np.flatnonzero(alive), linked=True)

    def _lost(self, grey: np.ndarray, n_alive: int, n_points: int) -> bool:
        """True when the tracks ended here although both frames have texture: a jump that descriptors bridge, or a cut."""
        if n_alive >= max(MIN_POINTS, 0.15 * n_points) or n_points < MIN_POINTS:
            return False
        assert self._previous is not None
        before, after = describe(self._previous, self.n_frames - 1), describe(grey, self.n_frames)
        if min(len(before.points), len(after.points)) < TEXTURED:
            return False
        first, second = match(before, after)
        if len(first) >= MIN_POINTS and _agree(first, second):
            self.links.append(Link(self.n_frames - 1, self.n_frames, first, second))
        else:
            self.cuts.append(self.n_frames)
        self._open(grey, np.empty((0, 2), np.float32), np.empty(0, np.int64), linked=False)
        return True

    def _add_view(self, grey: np.ndarray) -> None:
        self.views.append(describe(grey, self.n_frames, textured=self.n_corners[-1] >= MANY_POINTS))
        if len(self.views) > MAX_VIEWS:
            self.views = [self.views[0], *self.views[2::2]]
            self._stride *= 2


def _lucas_kanade(before: np.ndarray, after: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the points (n,1,2) went, and which were found."""
    guess = points.copy()
    moved, found, _ = cv2.calcOpticalFlowPyrLK(
        before, after, points, guess, None, None, WINDOW, LEVELS, CRITERIA, 0, MIN_EIGENVALUE
    )
    return np.asarray(moved), np.asarray(found)[:, 0] > 0


def _agree(first: np.ndarray, second: np.ndarray) -> bool:
    """Most of the matches move as one: half of them fit a homography."""
    _, inliers = cv2.findHomography(first, second, cv2.USAC_MAGSAC, 3.0)
    return inliers is not None and inliers.sum() >= max(MIN_POINTS, 0.5 * len(first))
