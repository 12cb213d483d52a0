"""The motion of the camera within each keyframe segment, from its tracks."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from lookback.backends.pose.classical.rotation import RotationFit, fit_rotation
from lookback.backends.pose.classical.selection import Candidate, choose_model
from lookback.backends.pose.classical.structure import Structure, solve_structure
from lookback.backends.pose.classical.tracking import Segment

FEWEST = 6  # points below which no rotation is fitted
REFERENCE_POINTS = 40
LEARNING, NEW_POINT = 0.3, 0.5  # learning rate of the trust in a point, and the trust in a new point
# Translation is accepted only when it explains the tracks well and turning does not. With few or wobbling tracks, or a wrong focal
# length, a turn looks like a step aside, and a wrong step is worse than a missing one.
MEDIAN_PX, UPPER_PX = 0.6, 1.6  # of the error at the reference frame: median, and third quartile
TYPICAL_PX = 1.0  # third quartile of the error in the median frame
BETTER = 0.6  # the median under moving over the median under turning
UNKNOWN_FOCAL_PX = 6.0  # with an assumed focal length, turning must fail by this much


@dataclass(frozen=True)
class Motion:
    """The motion of one segment: from keyframe coordinates to those of each frame key+1..last."""

    segment: Segment
    rotation: np.ndarray  # (T,3,3)
    translation: np.ndarray  # (T,3), zero where the camera only turned
    quality: np.ndarray  # (T,) in [0,1]
    known: np.ndarray  # (T,) bool: enough points for an estimate
    inverse_depth: np.ndarray | None  # (M,) where the camera moved
    model: str
    end_rays: np.ndarray  # (M,3) the keyframe's normalised rays, turned into the last frame
    trust: np.ndarray  # (M,) in [0,1]: how well each point followed the background


def turning(
    segment: Segment, before: Motion | None, focal: float, centre: np.ndarray, generator: np.random.Generator
) -> tuple[Motion, list[RotationFit | None]]:
    """The rotation of every frame, each on its own. Points that moved by themselves earlier count less."""
    fits: list[RotationFit | None] = []
    trust = _inherited(segment, before)
    for positions in segment.positions:
        valid = np.isfinite(positions[:, 0])
        if valid.sum() < FEWEST:
            fits.append(None)
            continue
        fit = fit_rotation(segment.points[valid], positions[valid], focal, centre, generator, trust[valid])
        trust[valid] += LEARNING * (fit.inliers - trust[valid])
        fits.append(fit)
    rotation = _held([None if fit is None else fit.rotation for fit in fits])
    known = np.array([fit is not None for fit in fits], bool)
    quality = np.array([0.0 if fit is None else _quality(fit.inliers) for fit in fits])
    end_rays = _end_rays(segment, rotation, focal, centre)
    return Motion(segment, rotation, np.zeros((len(fits), 3)), quality, known, None, "rotation", end_rays, trust), fits


def _inherited(segment: Segment, before: Motion | None) -> np.ndarray:
    """Trust at the keyframe: that of the segment before for points it contains, a lower start value for new points."""
    trust = np.full(len(segment.points), NEW_POINT if before is not None else 1.0)
    if before is not None:
        known = segment.parent >= 0
        trust[known] = before.trust[segment.parent[known]]
    return np.maximum(trust, 0.02)


def moving(
    turn: Motion, fits: list[RotationFit | None], before: Motion | None, focal: float, centre: np.ndarray, focal_known: bool
) -> Motion | None:
    """Motion and depth together; None where turning explains the tracks well enough or moving does not explain them better.

    `before` is the motion of the segment that this one continues. Its depths are one start of the search.
    """
    segment, reference = turn.segment, _reference(fits)
    if reference is None:
        return None
    fit, valid = fits[reference], np.isfinite(segment.positions[reference][:, 0])
    assert fit is not None
    candidates = choose_model(segment.points[valid], segment.positions[reference][valid], fit.error, focal, centre)
    if (carried := _carried(segment, reference, before, focal, centre)) is not None:
        candidates = [*candidates, carried]
    if not candidates or (not focal_known and np.median(fit.error) < UNKNOWN_FOCAL_PX):
        return None
    tracks = np.stack(segment.positions)
    solved = [(start.model, solve_structure(segment.points, tracks, reference, start, focal, centre)) for start in candidates]
    model, best = min(solved, key=lambda item: item[1].cost)
    errors = [_errors(segment, best, t, focal, centre) for t in range(len(tracks))]
    upper = np.array([np.percentile(error, 75) for error, known in zip(errors, turn.known, strict=True) if known])
    accepted = (
        np.isfinite(best.translation).all()
        and np.isfinite(best.inverse_depth).sum() >= FEWEST
        and np.median(errors[reference]) <= min(MEDIAN_PX, BETTER * float(np.median(fit.error)))
        and np.percentile(errors[reference], 75) <= UPPER_PX
        and np.median(upper) <= TYPICAL_PX
    )
    if not accepted:
        return None
    share = np.array([np.mean(error < 2.0) if known else 0.0 for error, known in zip(errors, turn.known, strict=True)])
    quality = np.clip(np.isfinite(tracks[..., 0]).sum(axis=1) * share / 40.0, 0, 1) * np.clip((share - 0.2) / 0.4, 0, 1)
    end_rays = _end_rays(segment, best.rotation, focal, centre)
    return Motion(segment, best.rotation, best.translation, quality, turn.known, best.inverse_depth, model, end_rays, turn.trust)


def _carried(segment: Segment, reference: int, before: Motion | None, focal: float, centre: np.ndarray) -> Candidate | None:
    """The motion of the reference frame, from point depths of the segment before (perspective-n-point)."""
    if before is None or before.inverse_depth is None:
        return None
    z = depth_at_end(before)
    usable = (segment.parent >= 0) & np.isfinite(segment.positions[reference][:, 0])
    usable[usable] = np.isfinite(z[segment.parent[usable]]) & (z[segment.parent[usable]] > 0)
    if usable.sum() < REFERENCE_POINTS:
        return None
    matrix = np.array([[focal, 0.0, centre[0]], [0.0, focal, centre[1]], [0.0, 0.0, 1.0]])
    rays = np.concatenate([(segment.points[usable] - centre) / focal, np.ones((usable.sum(), 1))], axis=1)
    scene = rays * z[segment.parent[usable], None]
    found, turn, shift, _ = cv2.solvePnPRansac(
        scene, segment.positions[reference][usable].astype(np.float64), matrix, None, reprojectionError=2.0, iterationsCount=100
    )
    size = np.linalg.norm(shift) if found else 0.0
    return Candidate("essential", cv2.Rodrigues(turn)[0], shift[:, 0] / size) if size > 1e-6 else None


def depth_at_end(motion: Motion) -> np.ndarray:
    """Depth of a segment's points in its last frame: z = (R m)_z / q + t_z."""
    assert motion.inverse_depth is not None
    return motion.end_rays[:, 2] / motion.inverse_depth + motion.translation[-1][2]


def _end_rays(segment: Segment, rotation: np.ndarray, focal: float, centre: np.ndarray) -> np.ndarray:
    rays = np.concatenate([(segment.points - centre) / focal, np.ones((len(segment.points), 1))], axis=1)
    return rays @ rotation[-1].T if len(rotation) else rays


def _errors(segment: Segment, structure: Structure, t: int, focal: float, centre: np.ndarray) -> np.ndarray:
    """Pixel errors of the points followed into frame t."""
    rays = np.concatenate([(segment.points - centre) / focal, np.ones((len(segment.points), 1))], axis=1)
    point = rays @ structure.rotation[t].T + np.nan_to_num(structure.inverse_depth)[:, None] * structure.translation[t]
    pixels = point[:, :2] / np.maximum(point[:, 2:], 0.05) * focal + centre
    error = np.linalg.norm(pixels - segment.positions[t], axis=1)
    return error[np.isfinite(error)]


def _reference(fits: list[RotationFit | None]) -> int | None:
    """The frame that turning explains worst, among those with enough points. If there is parallax, it has the most."""
    errors = [float(np.median(fit.error)) if fit is not None and len(fit.error) >= REFERENCE_POINTS else -1.0 for fit in fits]
    return int(np.argmax(errors)) if errors and max(errors) > 0 else None


def worst_error(fits: list[RotationFit | None]) -> float:
    """The median error of turning, in the frame that it explains worst."""
    reference = _reference(fits)
    fit = None if reference is None else fits[reference]
    return 0.0 if fit is None else float(np.median(fit.error))


def _held(rotations: list[np.ndarray | None]) -> np.ndarray:
    """The rotations, where a frame without a fit keeps the orientation before it."""
    out, last = [], np.eye(3)
    for rotation in rotations:
        last = last if rotation is None else rotation
        out.append(last)
    return np.array(out).reshape(-1, 3, 3)


def _quality(inliers: np.ndarray) -> float:
    """The quality in [0,1]: high with many points of which most agree."""
    return float(np.clip(inliers.sum() / 40.0, 0, 1) * np.clip((inliers.mean() - 0.2) / 0.4, 0, 1))
