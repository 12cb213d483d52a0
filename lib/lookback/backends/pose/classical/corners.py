"""Corners to follow, spread over the image so that the background outvotes a textured foreground."""

from __future__ import annotations

import cv2
import numpy as np

CELLS = (5, 8)  # rows, columns
SPACING = 7  # px between corners
NOISE_FLOOR = 2e-4  # smaller eigenvalues of the structure tensor are sensor noise or coding blocks


def detect_corners(grey: np.ndarray, taken: np.ndarray, count: int) -> np.ndarray:
    """Up to `count` Shi-Tomasi corners (n,2), the strongest of each cell, none near a point of `taken`.

    J. Shi, C. Tomasi: Good features to track, CVPR 1994. The threshold is absolute: a threshold relative to the strongest corner
    would leave a plain wall without points as soon as something contrasty stands before it.
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
    held = _cell_of(taken, grey.shape)
    rank = np.empty(len(rows), np.int64)
    for name in np.unique(cell):
        inside = cell == name
        rank[inside] = np.arange(inside.sum()) + np.count_nonzero(held == name)
    chosen = np.lexsort((np.arange(len(rows)), rank))[:count]  # the best of every cell first, then the second best, ...
    return np.stack([columns[chosen], rows[chosen]], axis=1).astype(np.float32)


def _cell_of(points: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    rows, columns = points[:, 1].astype(int), points[:, 0].astype(int)
    return rows * CELLS[0] // shape[0] * CELLS[1] + columns * CELLS[1] // shape[1]
