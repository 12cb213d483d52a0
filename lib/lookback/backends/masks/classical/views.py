"""Stored views of the object, and the search for the object by these views after it was out of view."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from lookback.backends.masks.classical.colours import ColourModel
from lookback.backends.masks.classical.motion import carry, from_inside, sources

RATIO = 0.8  # Lowe's test
MIN_MATCHES = 6
MANY_MATCHES = 12.0
INLIER_PX = 4.0
SCALES = (0.25, 4.0)
SAME_COLOUR = 22.0  # mean Lab distance below which a patch looks like the stored one
PATCH = 7
NEAR = 8  # pixels
MAX_LIGHT = 20.0  # in L: the largest change of light that is compensated
# Minimum share of the outline that must look as stored: when features matched, by place alone, and to count as whole.
COVERED_AGREEMENT, LEAST_AGREEMENT, MOST = 0.15, 0.25, 0.6
MIN_SEEN = 0.12  # minimum share of the object's outline inside the picture
MIN_PIXELS = 40
SEARCH = 0.3  # radius of the search around the predicted place, as a share of the object's size
HALF = 0.5
MIN_CORRELATION = 0.55
ALIKE = 0.7  # minimum Bhattacharyya coefficient of a region's colours
COLOURS_ALONE = 0.7  # factor on the score: colours without structure are weaker evidence


@lru_cache(maxsize=1)
def _sift() -> cv2.SIFT:
    return cv2.SIFT.create(nfeatures=600, contrastThreshold=0.02)


def describe(grey: np.ndarray, mask: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """SIFT points (K,2) and descriptors of a frame, or of the part under a mask."""
    keep = None if mask is None else 255 * cv2.dilate(mask.astype(np.uint8), np.ones((5, 5), np.uint8))
    points, descriptors = _sift().detectAndCompute(grey, keep)
    places = np.array([point.pt for point in points], np.float32).reshape(-1, 2)
    return places, np.zeros((0, 128), np.float32) if descriptors is None else descriptors


@dataclass(frozen=True)
class Found:
    """The object in a frame: the mask of what agrees with a stored view, and a score from 0 to 1."""

    mask: np.ndarray
    score: float
    view: View
    pose: np.ndarray | None  # (3,3) from the frame of the view to this frame; None when unknown


class View:
    """The whole object as seen in one frame."""

    def __init__(self, image: np.ndarray, mask: np.ndarray):
        self.image, self.mask = image, mask
        self.lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB).astype(np.float32)
        self.grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
        self.colours = ColourModel(image, mask)
        self.points, self.descriptors = describe(self.grey, mask)
        self.area = int(mask.sum())

    def by_features(self, image: np.ndarray, points: np.ndarray, descriptors: np.ndarray) -> Found | None:
        """The object anywhere in the frame, by SIFT matches."""
        if len(self.points) < MIN_MATCHES or len(points) < 2:
            return None
        pairs = cv2.BFMatcher().knnMatch(self.descriptors, descriptors, k=2)
        good = [pair[0] for pair in pairs if len(pair) == 2 and pair[0].distance < RATIO * pair[1].distance]
        if len(good) < MIN_MATCHES:
            return None
        source = self.points[[match.queryIdx for match in good]]
        target = points[[match.trainIdx for match in good]]
        pose, inliers = cv2.estimateAffinePartial2D(source, target, method=cv2.RANSAC, ransacReprojThreshold=INLIER_PX)
        if pose is None or int(inliers.sum()) < MIN_MATCHES:
            return None
        if not SCALES[0] < np.sqrt(abs(np.linalg.det(pose[:, :2]))) < SCALES[1]:
            return None
        evidence = 1 - np.exp(-int(inliers.sum()) / MANY_MATCHES)
        return self._check(image, np.vstack([pose, [0, 0, 1]]), float(evidence))

    def by_place(self, image: np.ndarray, motion: np.ndarray, seen: float = HALF, search: float = SEARCH) -> Found | None:
        """The object near the place that the camera's motion predicts. `seen` is the share of it that must be in view."""
        height, width = self.mask.shape
        outline = cv2.warpPerspective(self.mask.astype(np.uint8), motion, (width, height), flags=cv2.INTER_NEAREST)
        x, y, w, h = cv2.boundingRect(outline)
        if outline.sum() < MIN_PIXELS or min(w, h) < 8 or self._seen(motion) < seen:
            return None
        looks = cv2.warpPerspective(self.grey, motion, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        reach = max(3, round(search * max(w, h)))
        grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
        window = cv2.copyMakeBorder(grey, reach, reach, reach, reach, cv2.BORDER_REPLICATE)[
            y : y + h + 2 * reach, x : x + w + 2 * reach
        ]
        fit = cv2.matchTemplate(window, looks[y : y + h, x : x + w], cv2.TM_CCOEFF_NORMED, mask=outline[y : y + h, x : x + w])
        fit = np.where(np.isfinite(fit), fit, -1.0)
        top = np.unravel_index(int(np.argmax(fit)), fit.shape)
        if fit[top] < MIN_CORRELATION:
            return None
        shift = np.array([[1, 0, top[1] - reach], [0, 1, top[0] - reach], [0, 0, 1]], np.float64)
        return self._check(image, shift @ motion)

    def by_colours(self, image: np.ndarray, elsewhere: np.ndarray) -> Found | None:
        """A region with the colours of the object: for one that came back tipped over, burnt down or turned around."""
        region, alike = self.colours.regions(image, elsewhere)
        if alike < ALIKE:
            return None
        return Found(region, COLOURS_ALONE * alike * self.colours.explains(image, region), self, None)

    def _seen(self, motion: np.ndarray) -> float:
        """The share of the object's outline that lies inside the picture."""
        ys, xs = np.nonzero(self.mask)
        corners = np.stack([xs, ys], 1).astype(np.float64)[:: max(1, len(xs) // 200)]
        moved = cv2.perspectiveTransform(corners[None], motion)[0]
        depth = np.c_[corners, np.ones(len(corners))] @ motion[2]
        height, width = self.mask.shape
        return float(((depth > 0) & (moved >= 0).all(1) & (moved < [width, height]).all(1)).mean())

    def _check(self, image: np.ndarray, pose: np.ndarray, evidence: float = 0.0) -> Found | None:
        """Compare the frame with the stored view, pixel by pixel. Parts that are covered or elsewhere do not agree.

        The score is the share that agrees, or the `evidence` of feature matches if that is larger (they also find a covered
        object), times how well the object's colours explain the region.
        """
        grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
        places = sources(self.grey, grey, pose)
        outline = carry(self.mask, places) & from_inside(places)
        if outline.sum() < MIN_PIXELS or self._seen(pose) < MIN_SEEN:
            return None
        looks = carry(self.lab, places)
        lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB).astype(np.float32)
        light = np.median((lab - looks)[outline, 0]).clip(-MAX_LIGHT, MAX_LIGHT)
        away = np.linalg.norm(lab - looks - [light, 0, 0], axis=2).astype(np.float32)
        agrees = (cv2.blur(away, (PATCH, PATCH)) < SAME_COLOUR) & outline
        share = float(agrees.sum() / outline.sum())
        if agrees.sum() < MIN_PIXELS or share < (COVERED_AGREEMENT if evidence else LEAST_AGREEMENT):
            return None
        whole = outline if share > MOST else _grown(agrees, self.colours.likely(image), outline)
        return Found(whole, max(share, evidence) * self.colours.explains(image, whole), self, pose)


def _grown(agrees: np.ndarray, likely: np.ndarray, outline: np.ndarray) -> np.ndarray:
    """The pixels that agree, and connected pixels with the object's colours inside or near its outline."""
    near = cv2.dilate(outline.astype(np.uint8), np.ones((2 * NEAR + 1, 2 * NEAR + 1), np.uint8)) > 0
    _, labels = cv2.connectedComponents((agrees | (likely & near)).astype(np.uint8))
    return np.isin(labels, np.unique(labels[agrees]))
