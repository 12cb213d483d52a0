"""Choose the model that explains two views: the camera only turned, it moved in front of a plane, or it moved in a deep scene.

GRIC, the geometric robust information criterion (P. Torr, IJCV 2002; Torr, Fitzgibbon & Zisserman 1998):
    GRIC = sum_i min(e_i^2 / s^2, 2 (r - d)) + d n ln(r) + k ln(r n)
with r = 4 (a correspondence), d the dimension of the model's manifold, k its parameters:
rotation d = 2, k = 3; homography d = 2, k = 8; essential matrix d = 3, k = 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

SIGMA_PX = (0.2, 0.8)  # limits for the noise of the tracks, which is measured as the residual of a homography
INLIER_PX = 1.5
TURNED_SHARE = 0.6  # with this share of points within 2.5 sigma of one rotation, the camera only turned
IN_FRONT_SHARE = 0.8


@dataclass(frozen=True)
class Candidate:
    """A motion from view 1 to view 2 with |t| = 1, and the model it comes from."""

    model: str  # homography, essential
    rotation: np.ndarray
    translation: np.ndarray


def gric(squared_error: np.ndarray, dimension: int, parameters: int, sigma: float) -> float:
    """GRIC of one model; smaller is better."""
    n = len(squared_error)
    cost = np.minimum(squared_error / sigma**2, 2.0 * (4 - dimension)).sum()
    return float(cost + dimension * n * np.log(4.0) + parameters * np.log(4.0 * n))


def choose_model(
    first: np.ndarray, second: np.ndarray, rotation_error: np.ndarray, focal: float, centre: np.ndarray
) -> list[Candidate]:
    """Motions that explain matched points (n,2) better than turning, the best model first; empty when the camera only turned.

    `rotation_error` is the pixel error of the best pure rotation. In front of a plane the essential matrix is degenerate and two
    motions share one homography, so more than one candidate may remain. Further frames then decide.
    """
    if len(first) < 20:
        return []
    matrix = np.array([[focal, 0.0, centre[0]], [0.0, focal, centre[1]], [0.0, 0.0, 1.0]])
    homography, _ = cv2.findHomography(first, second, cv2.USAC_MAGSAC, INLIER_PX, maxIters=500)
    if homography is None or not np.isfinite(homography).all():
        return []
    plane_error = _transfer_error(first, second, homography)
    # the median of a two-dimensional error is 1.177 sigma
    sigma = float(np.clip(np.sqrt(np.median(plane_error)) / 1.177, *SIGMA_PX))
    if np.mean(rotation_error < 2.5 * sigma) >= TURNED_SHARE:
        return []
    turning = gric(rotation_error**2, 2, 3, sigma)
    found: list[tuple[float, list[Candidate]]] = []
    if (score := gric(plane_error, 2, 8, sigma)) < turning:
        found.append((score, _plane_motions(homography, matrix)))
    essential, _ = cv2.findEssentialMat(
        first.astype(np.float64), second.astype(np.float64), matrix, cv2.USAC_MAGSAC, 0.999, INLIER_PX
    )
    if essential is not None and essential.shape == (3, 3) and np.isfinite(essential).all():
        error = _sampson_error(first, second, essential, matrix)
        if (score := gric(error, 3, 5, sigma)) < turning:
            found.append((score, _essential_motions(essential, first, second, error, matrix)))
    return [candidate for _, candidates in sorted(found, key=lambda item: item[0]) for candidate in candidates]


def _transfer_error(first: np.ndarray, second: np.ndarray, homography: np.ndarray) -> np.ndarray:
    moved = cv2.perspectiveTransform(first[:, None].astype(np.float64), homography)[:, 0]
    return ((moved - second) ** 2).sum(axis=1)


def _sampson_error(first: np.ndarray, second: np.ndarray, essential: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Squared Sampson distance in pixels."""
    inverse = np.linalg.inv(matrix)
    fundamental = inverse.T @ essential @ inverse
    one, two = _homogeneous(first), _homogeneous(second)
    line_2, line_1 = one @ fundamental.T, two @ fundamental
    numerator = (two * line_2).sum(axis=1) ** 2
    return numerator / np.maximum((line_2[:, :2] ** 2).sum(axis=1) + (line_1[:, :2] ** 2).sum(axis=1), 1e-12)


def _plane_motions(homography: np.ndarray, matrix: np.ndarray) -> list[Candidate]:
    """The motions of a homography with a plane that faces the camera; at most two."""
    _, rotations, translations, normals = cv2.decomposeHomographyMat(homography, matrix)
    facing = [(r, t[:, 0]) for r, t, n in zip(rotations, translations, normals, strict=True) if n[2, 0] > 0]
    return [Candidate("homography", r, t / np.linalg.norm(t)) for r, t in facing if np.linalg.norm(t) > 1e-6]


def _essential_motions(
    essential: np.ndarray, first: np.ndarray, second: np.ndarray, error: np.ndarray, matrix: np.ndarray
) -> list[Candidate]:
    """The motion with the points in front of both cameras; none when too few points are."""
    fits = error < INLIER_PX**2
    if fits.sum() < 20:
        return []
    points = first[fits].astype(np.float64), second[fits].astype(np.float64)
    in_front, rotation, translation, _ = cv2.recoverPose(essential, *points, matrix)
    return [Candidate("essential", rotation, translation[:, 0])] if in_front >= IN_FRONT_SHARE * fits.sum() else []


def _homogeneous(points: np.ndarray) -> np.ndarray:
    return np.concatenate([points, np.ones((len(points), 1))], axis=1).astype(np.float64)
