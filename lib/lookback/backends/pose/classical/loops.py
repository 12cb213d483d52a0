"""Loops: relative rotations between frames that are far apart in time but show the same place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookback.backends.pose.classical.rotation import fit_rotation
from lookback.backends.pose.classical.selection import choose_model
from lookback.backends.pose.classical.views import View, match
from lookback.camera.poses import rotation_angle_deg

CANDIDATES = 3
MIN_GAP = 12  # frames; tracks connect nearer ones
MIN_INLIERS = 14
MIN_SHARE = 0.4
OVERLAP = 0.8  # share of the field of view: views further apart in orientation have nothing in common
DRIFT_DEG, DRIFT_SHARE = 4.0, 0.1  # how far a recognised view may differ from the chain of tracks


@dataclass(frozen=True)
class Loop:
    """R_i^T R_j measured between two frames. `same_place`: a turn alone explains it, so the camera is at the same place."""

    first: int
    second: int
    relative: np.ndarray
    same_place: bool
    shift_deg: float  # how far the matched points moved; an error from confusing turning and moving is at most this


def find_loops(
    views: list[View],
    chain: np.ndarray,
    part: np.ndarray,
    fov_deg: float,
    focal: float,
    centre: np.ndarray,
    moves: bool,
    generator: np.random.Generator,
) -> list[Loop]:
    """Match each view with the first one, and with earlier ones that look the same way by the chain of orientations (N,3,3).

    `moves`: the clip shows parallax, so a view may match from a different place. `part` (N,) numbers the parts that tracks hold
    together. The chain does not hold across parts, so there any earlier view may match.
    """
    path = np.concatenate([[0.0], np.cumsum(rotation_angle_deg(chain[:-1], chain[1:]))])
    loops = []
    for number, view in enumerate(views):
        for other in _candidates(views[:number], view, chain, part, fov_deg):
            loop = _measure(other, view, focal, centre, moves, generator)
            if loop is None:
                continue
            if part[view.frame] == part[other.frame]:
                predicted = chain[other.frame].T @ chain[view.frame]
                allowed = DRIFT_DEG + DRIFT_SHARE * (path[view.frame] - path[other.frame])
                if rotation_angle_deg(predicted, loop.relative) > allowed:
                    continue
            loops.append(loop)
    return loops


def _candidates(earlier: list[View], view: View, chain: np.ndarray, part: np.ndarray, fov_deg: float) -> list[View]:
    far = [other for other in earlier if view.frame - other.frame >= MIN_GAP or part[other.frame] != part[view.frame]]
    if not far:
        return []
    across = [other for other in far if part[other.frame] != part[view.frame]]
    if across:
        spread = np.unique(np.linspace(0, len(across) - 1, 2 * CANDIDATES).round().astype(int))
        return [across[k] for k in spread]
    angles = [float(rotation_angle_deg(chain[other.frame], chain[view.frame])) for other in far]
    facing = [k for k in np.argsort(angles, kind="stable") if angles[k] < OVERLAP * fov_deg]
    chosen = facing[:CANDIDATES]
    if 0 in facing and far[0].frame == 0 and 0 not in chosen:
        chosen = [0, *chosen]
    return [far[k] for k in chosen]


def _measure(
    first: View, second: View, focal: float, centre: np.ndarray, moves: bool, generator: np.random.Generator
) -> Loop | None:
    points_1, points_2 = match(first, second)
    if len(points_1) < MIN_INLIERS:
        return None
    fit = fit_rotation(points_1, points_2, focal, centre, generator)
    shift = float(np.degrees(np.median(np.linalg.norm(points_2 - points_1, axis=1)) / focal))
    candidates = choose_model(points_1, points_2, fit.error, focal, centre) if moves else []
    if not candidates:
        agree = fit.inliers.sum() >= max(MIN_INLIERS, MIN_SHARE * len(points_1))
        return Loop(first.frame, second.frame, fit.rotation.T, True, shift) if agree else None
    if len(candidates) > 1:
        return None  # more than one motion explains the matches
    return Loop(first.frame, second.frame, candidates[0].rotation.T, False, shift)
