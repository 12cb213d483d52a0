"""Where a video sees a place again: its late frames matched with its early ones, without a plan of the camera.

Two frames show one place when their local features agree on one homography or, where a scene has few features, when their fine
detail correlates after alignment. The share of the early view that a later frame shows says how far the camera has left it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.measures.checks import Array
from lookback.measures.geometry import Keypoints, match_keypoints, sift_keypoints
from lookback.measures.inverse_search import InverseSearch

SIDE = 480  # the longer side of a compared frame, in pixels
FEATURES = 1500  # the strongest keypoints of a frame
MATCH_RATIO = 0.8  # generated frames are soft: a wide ratio test, and the homography removes what is wrong
MATCH_PIXELS = 4.0
MIN_INLIERS = 12  # fewer points agree on a homography by chance
AREA_RANGE = (0.15, 6.0)  # a homography that shrinks or grows a frame more than this is no view of the same place
ALIGN_SIDE = 160  # the longer side of the copies whose detail is aligned
DETAIL_SIGMA = 4.0
ALIGN_STEPS = 60
MIN_CORRELATION = 0.45  # of aligned detail; frames of different places stay below 0.44 on real clips
EARLY_SHARE = 0.3  # the part of a video whose views may be seen again
EARLY_VIEWS = 3  # views of that part that are looked for
MIN_RETURN = 0.5  # share of the early view that a return shows
MIN_DEPARTURE = 0.2  # by how much less of it was seen in between


@dataclass(frozen=True)
class View:
    """A frame made ready for matching."""

    frame: int
    picture: NDArray[np.uint8]
    keypoints: Keypoints

    @classmethod
    def of(cls, frame: int, picture: Array, side: int = SIDE) -> View:
        height, width = picture.shape[:2]
        scale = side / max(height, width)
        size = max(1, round(width * scale)), max(1, round(height * scale))
        small = picture if scale >= 1.0 else np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
        return cls(frame, small, sift_keypoints(small, None, FEATURES))

    @property
    def size(self) -> tuple[int, int]:
        """(height, width)."""
        return self.picture.shape[0], self.picture.shape[1]


@dataclass(frozen=True)
class SamePlace:
    """How much of the early view a later frame shows, and what says so. `matrix` maps the later frame into the early view."""

    first: int
    second: int
    overlap: float = 0.0
    inliers: int = 0
    matrix: NDArray[np.float64] | None = None
    correlation: float | None = None

    @property
    def found(self) -> bool:
        return self.matrix is not None


@dataclass(frozen=True)
class Revisit:
    """A place that was seen, left and seen again: the matched pair, and the frame in between that shows least of it."""

    pair: SamePlace
    away: int
    overlap_away: float


def same_place(first: View, second: View) -> SamePlace:
    """Whether two frames show one place: by local features, else by aligned detail."""
    points_i, points_j = match_keypoints(first.keypoints, second.keypoints, MATCH_RATIO)
    inliers = 0
    if len(points_i) >= MIN_INLIERS:
        cv2.setRNGSeed(0)  # RANSAC draws at random
        found, chosen = cv2.findHomography(points_j, points_i, cv2.RANSAC, MATCH_PIXELS)
        inliers = int(chosen.sum()) if found is not None else 0
        if inliers >= MIN_INLIERS:
            matrix = np.asarray(found, np.float64)
            if (share := view_overlap(matrix, second.size, first.size)) > 0.0:
                return SamePlace(first.frame, second.frame, share, inliers, matrix)
    return _aligned(first, second, inliers)


def view_overlap(matrix: NDArray[np.float64], source: tuple[int, int], target: tuple[int, int]) -> float:
    """The share of the target view that the source frame fills; 0 where the homography is no plausible change of view."""
    corners, window = (np.array([[0, 0], [w, 0], [w, h], [0, h]], np.float64) for h, w in (source, target))
    if not (np.column_stack([corners, np.ones(4)]) @ matrix[2] > 0).all():
        return 0.0
    moved = cv2.perspectiveTransform(corners[None], matrix)[0].astype(np.float32)
    area = target[0] * target[1]
    if not cv2.isContourConvex(moved) or not AREA_RANGE[0] <= cv2.contourArea(moved) / area <= AREA_RANGE[1]:
        return 0.0
    return min(1.0, float(cv2.intersectConvexConvex(moved, window.astype(np.float32))[0]) / area)


def _aligned(first: View, second: View, inliers: int) -> SamePlace:
    """The later frame aligned with the early one by their fine detail (Evangelidis and Psarakis 2008; an affine map)."""
    scale = ALIGN_SIDE / max(first.size)
    size = max(1, round(first.size[1] * scale)), max(1, round(first.size[0] * scale))
    fixed, moving = (_detail(view.picture, size) for view in (first, second))
    nothing = SamePlace(first.frame, second.frame, inliers=inliers)
    stop = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, ALIGN_STEPS, 1e-5)
    try:
        start = np.eye(2, 3, dtype=np.float32)
        correlation, warp = cv2.findTransformECC(fixed, moving, start, cv2.MOTION_AFFINE, stop, None, 5)  # type: ignore[call-overload]
    except cv2.error:  # it does not converge where the two pictures have nothing in common
        return nothing
    if not correlation >= MIN_CORRELATION:
        return SamePlace(first.frame, second.frame, inliers=inliers, correlation=float(correlation))
    small = np.vstack([np.asarray(warp, np.float64), [0.0, 0.0, 1.0]])  # from the early view to the later frame, in small pixels
    shrink_i, shrink_j = (np.diag([size[0] / view.size[1], size[1] / view.size[0], 1.0]) for view in (first, second))
    matrix = np.linalg.inv(shrink_i) @ np.linalg.inv(small) @ shrink_j
    share = view_overlap(matrix, second.size, first.size)
    return SamePlace(first.frame, second.frame, share, inliers, matrix if share > 0.0 else None, float(correlation))


def _detail(picture: Array, size: tuple[int, int]) -> NDArray[np.float32]:
    grey = cv2.cvtColor(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2GRAY).astype(np.float32)
    fine = grey - cv2.GaussianBlur(grey, (0, 0), DETAIL_SIGMA)
    return fine / max(1.0, float(fine.std()))


def early_views(count: int) -> list[int]:
    """Which of `count` sampled views are looked for later: a few of the first part, the first among them."""
    last = max(0, int(EARLY_SHARE * (count - 1)))
    return sorted({round(place) for place in np.linspace(0, last, EARLY_VIEWS)})


def view_profile(views: Sequence[View], early: int) -> list[SamePlace]:
    """The later views compared with an early one, in order of time."""
    return [same_place(views[early], later) for later in views[early + 1 :]]


def find_revisit(profile: Sequence[SamePlace]) -> Revisit | None:
    """The later frame that shows most of an early view after it was left; None when it was not left or not seen again."""
    best: Revisit | None = None
    least = 0  # the place in the profile where least of the view was seen so far
    for place, pair in enumerate(profile):
        if pair.overlap < profile[least].overlap:
            least = place
        away = profile[least]
        returned = pair.found and pair.overlap >= MIN_RETURN and pair.overlap - away.overlap >= MIN_DEPARTURE
        if returned and (best is None or pair.overlap > best.pair.overlap):
            best = Revisit(pair, away.second, away.overlap)
    return best


FLOW_PIXELS = 12.0  # what parallax may still move after the homography, at the size of a view
STRUCTURE_SIGMA = 4.0
STRUCTURE_NOISE = 6.0  # grey levels: contrast below this is noise
MIN_STRUCTURE = 0.5  # correlation of the local structure from which a spot counts as kept


@dataclass(frozen=True)
class PlaceComparison:
    """The later frame warped into the early view, where it fills it, and the local structure that both share (H,W), -1 to 1."""

    first: NDArray[np.uint8]
    warped: NDArray[np.uint8]
    valid: NDArray[np.bool_]
    structure: NDArray[np.float32]

    def kept(self, area: NDArray[np.bool_] | None = None) -> float:
        """The share of the overlap (or of an area in it) whose structure is still there; NaN when nothing of it overlaps."""
        chosen = self.valid if area is None else self.valid & area
        return float((self.structure[chosen] >= MIN_STRUCTURE).mean()) if chosen.any() else float("nan")


def compare_place(first: Array, second: Array, matrix: NDArray[np.float64]) -> PlaceComparison:
    """Two views of one place: the homography moves the second into the first, a small optical flow removes parallax."""
    height, width = first.shape[:2]
    warped = cv2.warpPerspective(second, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    inside = cv2.warpPerspective(np.ones(second.shape[:2], np.uint8), matrix, (width, height), flags=cv2.INTER_NEAREST)
    valid = cv2.erode(inside, np.ones((7, 7), np.uint8)).astype(bool)
    warped = _without_parallax(first, warped)
    return PlaceComparison(first, warped, valid, local_structure(first, warped))


def _without_parallax(first: Array, warped: Array) -> NDArray[np.uint8]:
    flow = cv2.GaussianBlur(InverseSearch().flow(first, warped), (0, 0), STRUCTURE_SIGMA)
    length = np.linalg.norm(flow, axis=2, keepdims=True)
    flow = np.where(length <= FLOW_PIXELS, flow, 0.0).astype(np.float32)
    x, y = np.meshgrid(np.arange(first.shape[1], dtype=np.float32), np.arange(first.shape[0], dtype=np.float32))
    moved = cv2.remap(warped, x + flow[..., 0], y + flow[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(moved, np.uint8)


def local_structure(first: Array, second: Array) -> NDArray[np.float32]:
    """The correlation of two pictures in a Gaussian window around every pixel, 1 where both are flat: SSIM's structure term.

    (2 cov + C) / (var + var + C), C the noise. Brightness does not count, contrast does.
    """
    a, b = (cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32) for picture in (first, second))
    mean_a, mean_b = (cv2.GaussianBlur(each, (0, 0), STRUCTURE_SIGMA) for each in (a, b))
    var_a = cv2.GaussianBlur(a * a, (0, 0), STRUCTURE_SIGMA) - mean_a * mean_a
    var_b = cv2.GaussianBlur(b * b, (0, 0), STRUCTURE_SIGMA) - mean_b * mean_b
    both = cv2.GaussianBlur(a * b, (0, 0), STRUCTURE_SIGMA) - mean_a * mean_b
    noise = STRUCTURE_NOISE**2
    return np.asarray((2.0 * both + noise) / (var_a + var_b + noise), np.float32)
