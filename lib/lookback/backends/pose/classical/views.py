"""Frames described by SIFT features, to recognise a place when the camera comes back to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np

FEATURES = 300
WIDTH = 280  # enough where there is texture: SIFT looks at twice its input
RATIO = 0.8  # Lowe's ratio test


@dataclass(frozen=True)
class View:
    """One frame's SIFT features: positions (n,2) and RootSIFT descriptors (n,128), stored as bytes."""

    frame: int
    points: np.ndarray
    descriptors: np.ndarray

    @cached_property
    def root(self) -> np.ndarray:
        """RootSIFT: unit vectors whose inner product is the Hellinger kernel."""
        values = self.descriptors.astype(np.float32)
        return np.sqrt(values / np.maximum(values.sum(axis=1, keepdims=True), 1))


def describe(grey: np.ndarray, frame: int, textured: bool = False) -> View:
    """SIFT on the working image; the low contrast threshold keeps features on plain walls."""
    detector = cv2.SIFT.create(nfeatures=FEATURES, contrastThreshold=0.02)
    scale = min(1.0, WIDTH / grey.shape[1]) if textured else 1.0
    small = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else grey
    keypoints, descriptors = detector.detectAndCompute(small, None)
    if descriptors is None:
        return View(frame, np.empty((0, 2), np.float32), np.empty((0, 128), np.uint8))
    points = (np.array([keypoint.pt for keypoint in keypoints], np.float32) + 0.5) / scale - 0.5
    return View(frame, points, np.rint(descriptors).astype(np.uint8))


def match(first: View, second: View) -> tuple[np.ndarray, np.ndarray]:
    """Positions of mutual nearest neighbours that pass the ratio test, under RootSIFT (Arandjelovic & Zisserman, CVPR 2012)."""
    if min(len(first.points), len(second.points)) < 2:
        return np.empty((0, 2), np.float32), np.empty((0, 2), np.float32)
    similarity = first.root @ second.root.T
    best = similarity.argmax(axis=1)
    rows = np.arange(len(best))
    mutual = similarity.argmax(axis=0)[best] == rows
    top = similarity[rows, best]
    runner_up = np.partition(similarity, -2, axis=1)[:, -2]
    # unit vectors: squared distance = 2 - 2 similarity
    kept = mutual & (1 - top < RATIO**2 * (1 - runner_up))
    return first.points[kept], second.points[best[kept]]
