"""Point correspondences of two frames: SIFT, ratio test, mutual check."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Array, require_finite, require_images

RATIO = 0.75  # Lowe's ratio test
MIN_MATCHES = 8  # as many as the eight-point algorithm needs
MAX_FEATURES = 4000  # the strongest keypoints of a frame; bounds the matching time


def require_matches(points_i: ArrayLike, points_j: ArrayLike, min_matches: int = MIN_MATCHES) -> tuple[Array, Array]:
    """Two (N,2) arrays of matched pixels with N >= min_matches."""
    first, second = (
        require_finite(points, name, ndim=2, at_least=0) for points, name in ((points_i, "points_i"), (points_j, "points_j"))
    )
    if first.shape != second.shape or (len(first) and first.shape[1] != 2):
        raise NotScorable(Reason.INVALID_INPUT, f"points_i and points_j must both be (N,2), not {first.shape} and {second.shape}")
    if len(first) < min_matches:
        raise NotScorable(Reason.TOO_FEW_MATCHES, f"{len(first)} matches, at least {min_matches} are needed")
    return first, second


def match_sift(
    image_i: ArrayLike,
    image_j: ArrayLike,
    *,
    mask_i: ArrayLike | None = None,
    ratio: float = RATIO,
    max_features: int = MAX_FEATURES,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Matched pixels (N,2) of two images: SIFT keypoints, the ratio test both ways, and only pairs that choose each other.

    `mask_i` (H,W) limits the keypoints of the first image.
    """
    first = _keypoints(require_images(image_i, "image_i", ndim=3), mask_i, max_features)
    second = _keypoints(require_images(image_j, "image_j", ndim=3), None, max_features)
    empty = np.zeros((0, 2))
    if min(len(first[0]), len(second[0])) < 2:  # the ratio test needs a runner-up
        return empty, empty
    forward, backward = _best_matches(first[1], second[1], ratio), _best_matches(second[1], first[1], ratio)
    i = np.flatnonzero(forward >= 0)
    i = i[backward[forward[i]] == i]
    # a corner with several orientations is several keypoints at one place: count it once
    matches = np.unique(np.hstack([first[0][i], second[0][forward[i]]]), axis=0)
    return matches[:, :2], matches[:, 2:]


def _keypoints(image: Array, mask: ArrayLike | None, max_features: int) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Pixel positions (N,2) and SIFT descriptors (N,128)."""
    picture = image if image.dtype == np.uint8 else np.round(image * 255.0).clip(0, 255).astype(np.uint8)
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    area = None if mask is None else np.asarray(mask).astype(np.uint8)
    keypoints, descriptors = cv2.SIFT.create(nfeatures=max_features).detectAndCompute(grey, area)
    if descriptors is None:
        return np.zeros((0, 2)), np.zeros((0, 128), np.float32)
    return np.array([point.pt for point in keypoints], dtype=np.float64), np.asarray(descriptors, dtype=np.float32)


def _best_matches(queries: NDArray[np.float32], candidates: NDArray[np.float32], ratio: float) -> NDArray[np.int64]:
    """For each query the index of its nearest candidate, or -1 where the second nearest is too close to tell them apart."""
    best = np.full(len(queries), -1, dtype=np.int64)
    for pair in cv2.BFMatcher(cv2.NORM_L2).knnMatch(queries, candidates, k=2):
        if len(pair) == 2 and pair[0].distance < ratio * pair[1].distance:
            best[pair[0].queryIdx] = pair[0].trainIdx
    return best
