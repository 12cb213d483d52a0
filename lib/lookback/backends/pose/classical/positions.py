"""Positions of the frames from the segments that moved, in one unit, closed where the camera stands again where it stood."""

from __future__ import annotations

import numpy as np

from lookback.backends.pose.classical.averaging import solve_laplacian
from lookback.backends.pose.classical.loops import Loop
from lookback.backends.pose.classical.segments import Motion, depth_at_end

SAME_PLACE, SAME_PLACE_DRIFT = 0.02, 0.05  # distance in scene depths, and its share of the way between
SAME_VIEW_DEG = 1.0  # a view whose points moved less is the same one, whatever the drift says


def solve_positions(motions: list[Motion], rotation: np.ndarray, loops: list[Loop], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions from the segments that moved, each brought to the first one's scale by the depth of points they share."""
    has_translation = np.zeros(n, bool)
    if not any(motion.inverse_depth is not None for motion in motions):
        return np.zeros((n, 3)), has_translation
    pairs, steps = [], []
    depth_before: np.ndarray | None = None  # depth of the previous segment's points in this keyframe, in the common unit
    scene_depth = 1.0
    for motion in motions:
        segment = motion.segment
        scale, depth = 0.0, None
        if motion.inverse_depth is not None:
            depth = 1.0 / motion.inverse_depth
            scale = _scale(depth, segment.parent, depth_before, scene_depth)
            scene_depth = scale * float(np.nanmedian(depth))
            has_translation[segment.key : segment.last + 1] = True
        before = np.zeros(3)
        for offset, (turn, shift) in enumerate(zip(motion.rotation, motion.translation, strict=True), start=1):
            centre = rotation[segment.key] @ (-turn.T @ shift) * scale  # camera centre relative to the keyframe's, world axes
            pairs.append((segment.key + offset - 1, segment.key + offset))
            steps.append(centre - before)
            before = centre
        if segment.key > 0 and not segment.linked:
            pairs.append((segment.key - 1, segment.key))
            steps.append(np.zeros(3))
        depth_before = None if depth is None else depth_at_end(motion) * scale
    weights = np.ones(len(pairs))
    closures = [(loop.first, loop.second) for loop in loops if loop.same_place]
    edges = np.array(pairs + closures)
    difference = np.concatenate([np.array(steps), np.zeros((len(closures), 3))])
    return solve_laplacian(n, edges, difference, np.concatenate([weights, np.ones(len(closures))])), has_translation


def may_be_same_place(position: np.ndarray, loop: Loop) -> bool:
    """Whether the camera can stand again where it stood, by what is known of its positions before closing loops."""
    if loop.shift_deg < SAME_VIEW_DEG:
        return True
    between = position[loop.first : loop.second + 1]
    way = np.linalg.norm(np.diff(between, axis=0), axis=1).sum()
    return bool(np.linalg.norm(between[-1] - between[0]) <= SAME_PLACE + SAME_PLACE_DRIFT * way)


def _scale(depth: np.ndarray, parent: np.ndarray, depth_before: np.ndarray | None, scene_depth: float) -> float:
    """Common unit per unit of this segment: from shared points, else by keeping the scene's median depth."""
    if depth_before is not None:
        shared = parent >= 0
        ratio = depth_before[parent[shared]] / depth[shared]
        ratio = ratio[np.isfinite(ratio) & (ratio > 0)]
        if len(ratio) >= 8:
            return float(np.median(ratio))
    return scene_depth / float(np.nanmedian(depth))
