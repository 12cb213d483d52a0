"""The motion of the background between frames (a homography), and the motion of the object relative to it (dense flow)."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np

from lookback.measures.inverse_search import FAST_MIN_HEIGHT, InverseSearch

CORNERS = 120
BACKWARD_PX = 1.0  # a track that does not return to its start within this distance is dropped
INLIER_PX = 1.5
MIN_INLIERS = 12
KEEP_OFF = 5  # no background point is taken within this many pixels of the object


def background_motion(previous: np.ndarray, current: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """The homography (3,3) from the background of the previous frame to the current one; None when it cannot be estimated.

    It is exact for a camera that only turns, and approximates other motion by a plane. Both frames are grey; `mask` is the
    object in the previous one.
    """
    kernel = np.ones((2 * KEEP_OFF + 1, 2 * KEEP_OFF + 1), np.uint8)
    free = 255 * (1 - cv2.dilate(mask.astype(np.uint8), kernel))
    points = cv2.goodFeaturesToTrack(previous, CORNERS, 0.005, 5, mask=free)
    if points is None or len(points) < MIN_INLIERS:
        return None
    moved, found, _ = cv2.calcOpticalFlowPyrLK(previous, current, points, None, winSize=(13, 13), maxLevel=4)  # type: ignore[call-overload]
    back, returned, _ = cv2.calcOpticalFlowPyrLK(current, previous, moved, None, winSize=(13, 13), maxLevel=4)  # type: ignore[call-overload]
    good = (found & returned).ravel().astype(bool) & (np.linalg.norm(back - points, axis=2).ravel() < BACKWARD_PX)
    if good.sum() < MIN_INLIERS:
        return None
    motion, inliers = cv2.findHomography(points[good], moved[good], cv2.RANSAC, INLIER_PX)
    if motion is None or int(inliers.sum()) < max(MIN_INLIERS, 0.3 * good.sum()):
        return None
    return np.asarray(motion, np.float64)


@lru_cache(maxsize=1)
def _dense() -> InverseSearch:
    return InverseSearch(cv2.DISOPTICAL_FLOW_PRESET_FAST)


def sources(source: np.ndarray, target: np.ndarray, motion: np.ndarray | None) -> np.ndarray:
    """Where in the grey frame `source` each pixel of `target` comes from (h,w,2), x and y.

    `motion` maps source points to target points. Dense inverse search adds what moves relative to it, except in a very wide
    picture, which is lower than `FAST_MIN_HEIGHT`.
    """
    height, width = target.shape
    motion = np.eye(3) if motion is None else motion
    steady = cv2.warpPerspective(source, motion, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    places = np.stack([x, y], -1)
    if height >= FAST_MIN_HEIGHT:
        places += _dense().of_greys(target, steady)
    return np.asarray(cv2.perspectiveTransform(places, np.linalg.inv(motion)), np.float32)


def carry(picture: np.ndarray, places: np.ndarray) -> np.ndarray:
    """A picture or mask sampled at `places`. Outside the frame, the pixels of the border are repeated."""
    if picture.dtype == bool:
        return carry(picture.astype(np.float32), places) > 0.5
    return np.asarray(cv2.remap(picture, places, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE))  # type: ignore[call-overload]


def from_inside(places: np.ndarray) -> np.ndarray:
    """Whether each pixel comes from inside the source frame."""
    height, width = places.shape[:2]
    return np.asarray(((places > -1) & (places < [width, height])).all(-1))
