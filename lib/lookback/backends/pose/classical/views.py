"""Recognise a place again: features of single frames, and their matches.

SIFT places its features more exactly, so it measures how far two views are turned apart (on the demo's known paths XFeat's whole
pixels made the error up to 0.2 degrees larger). XFeat was made for views that look less alike, and recognises the first view; SIFT
serves there, too, where torch or XFeat's weights are not at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np

from lookback.backends.runtime import loaded_once
from lookback.extras import installed
from lookback.weights import locate, present

if TYPE_CHECKING:
    from lookback.networks.xfeat import XFeat

SIFT_FEATURES = 300
SIFT_WIDTH = 280  # enough where there is texture, because SIFT doubles its input
RATIO = 0.8  # Lowe's ratio test
XFEAT = "xfeat"
XFEAT_FEATURES = 600
SIMILAR = 0.82  # XFeat's own limit for the cosine of two descriptors


@dataclass(frozen=True)
class View:
    """One frame's features: positions (n,2) and descriptors (n,D) of length 1."""

    frame: int
    points: np.ndarray
    descriptors: np.ndarray
    ratio: float  # the best match must be nearer than the second best by this factor; 1: it need not be
    similar: float  # smallest cosine of a match

    def outside(self, cells: np.ndarray, size: tuple[int, int]) -> View:
        """The features that lie in none of the cells (R,C) of a picture of this size."""
        kept = ~cells.ravel()[cell_of(self.points, size, cells.shape)]
        return View(self.frame, self.points[kept], self.descriptors[kept], self.ratio, self.similar)


Describe = Callable[[np.ndarray, int, bool], View]  # grey picture, frame, whether it is rich in texture


def cell_of(points: np.ndarray, size: tuple[int, int], grid: tuple[int, ...]) -> np.ndarray:
    """(n,) the number of the cell of a grid (rows, columns), row by row, that each point of a picture (width, height) lies in."""
    column, row = (np.clip((points[:, k] * grid[1 - k] / size[k]).astype(int), 0, grid[1 - k] - 1) for k in (0, 1))
    return row * grid[1] + column


def describe_sift(grey: np.ndarray, frame: int, textured: bool) -> View:
    """RootSIFT (Arandjelovic & Zisserman, CVPR 2012); the low contrast threshold keeps features on plain walls."""
    detector = cv2.SIFT.create(nfeatures=SIFT_FEATURES, contrastThreshold=0.02)
    scale = min(1.0, SIFT_WIDTH / grey.shape[1]) if textured else 1.0
    small = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else grey
    keypoints, descriptors = detector.detectAndCompute(small, None)
    if descriptors is None:
        return View(frame, np.empty((0, 2), np.float32), np.empty((0, 128), np.float16), RATIO, -1.0)
    points = (np.array([keypoint.pt for keypoint in keypoints], np.float32) + 0.5) / scale - 0.5
    root = np.sqrt(descriptors / np.maximum(descriptors.sum(axis=1, keepdims=True), 1))
    return View(frame, points, root.astype(np.float16), RATIO, -1.0)


def describe_xfeat(weights: Path) -> Describe:
    """Features of the network, on the picture at the nearest size it takes."""
    import torch

    from lookback.networks.xfeat import GRID

    network = _network(weights)

    def describe(grey: np.ndarray, frame: int, textured: bool) -> View:
        height, width = (max(1, round(side / GRID)) * GRID for side in grey.shape)
        small = cv2.resize(grey, (width, height), interpolation=cv2.INTER_AREA)
        points, descriptors = network.detect(torch.from_numpy(small), XFEAT_FEATURES)
        scale = np.array([grey.shape[1] / width, grey.shape[0] / height], np.float32)
        return View(frame, (points.numpy() + 0.5) * scale - 0.5, descriptors.numpy().astype(np.float16), 1.0, SIMILAR)

    return describe


@loaded_once(1)
def _network(weights: Path) -> XFeat:
    from lookback.networks.xfeat import load

    return load(weights)


def best_describer() -> tuple[str, Describe]:
    """XFeat where torch and its weights are at hand, else SIFT; and the name of the one that was taken."""
    return (XFEAT, describe_xfeat(locate(XFEAT))) if installed("torch") and present(XFEAT) else ("sift", describe_sift)


def match(first: View, second: View) -> tuple[np.ndarray, np.ndarray]:
    """Positions of mutual nearest neighbours that are similar enough and pass the ratio test."""
    if min(len(first.points), len(second.points)) < 2:
        return np.empty((0, 2), np.float32), np.empty((0, 2), np.float32)
    similarity = first.descriptors.astype(np.float32) @ second.descriptors.astype(np.float32).T
    best = similarity.argmax(axis=1)
    rows = np.arange(len(best))
    top = similarity[rows, best]
    kept = (similarity.argmax(axis=0)[best] == rows) & (top > first.similar)
    if first.ratio < 1:
        runner_up = np.partition(similarity, -2, axis=1)[:, -2]
        kept &= 1 - top < first.ratio**2 * (1 - runner_up)  # unit vectors: squared distance = 2 - 2 similarity
    return first.points[kept], second.points[best[kept]]
