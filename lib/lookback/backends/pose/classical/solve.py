"""From tracks to a camera path: segments, loops, averaged orientations, positions up to one scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookback.backends.pose.classical.averaging import average_rotations
from lookback.backends.pose.classical.loops import find_loops
from lookback.backends.pose.classical.parts import bridge, limit_quality, number_parts
from lookback.backends.pose.classical.positions import SAME_VIEW_DEG, may_be_same_place, solve_positions
from lookback.backends.pose.classical.rotation import fit_rotation
from lookback.backends.pose.classical.segments import Motion, moving, turning, worst_error
from lookback.backends.pose.classical.tracking import PointTracker

UNEXPLAINED_PX = 1.0
MOVING_SHARE = 0.6
LOOP_WEIGHT = 10.0  # a recognised view does not drift, a chain does
MOVING_LOOP_WEIGHT = 1.0  # unless the camera moves: a step aside looks much like a turn
HOLD_WEIGHT = 1e-4  # keeps frames together across a cut without pulling at anything measured


@dataclass(frozen=True)
class Path:
    """Orientation and position of every frame, and how far to trust them."""

    rotation: np.ndarray  # (N,3,3) camera-to-world
    position: np.ndarray  # (N,3), unit: the median depth of the first part of the scene that showed parallax
    quality: np.ndarray  # (N,)
    has_translation: np.ndarray  # (N,) bool
    models: dict[str, int]  # how many segments each model explains
    n_loops: int


@dataclass
class _Edges:
    """Measured relations R_i^T R_j between frames."""

    pairs: list[tuple[int, int]]
    relative: list[np.ndarray]
    weights: list[float]

    def add(self, i: int, j: int, relative: np.ndarray, weight: float) -> None:
        self.pairs.append((i, j))
        self.relative.append(relative)
        self.weights.append(weight)


def solve_path(tracker: PointTracker, focal: float, centre: np.ndarray, fov_deg: float, focal_known: bool, seed: int) -> Path:
    """Everything after the last frame has been seen. `focal` and `centre` are in pixels of the working image."""
    generator = np.random.default_rng(seed)
    motions = _motions(tracker, focal, centre, focal_known, generator)
    edges, chain, quality = _chain(tracker, motions, focal, centre, generator)
    part = number_parts(motions, tracker.cuts, tracker.n_frames)
    drifted, moves = solve_positions(motions, chain, [], tracker.n_frames)
    loops = find_loops(tracker.views, chain, part, fov_deg, focal, centre, bool(moves.any()), generator)
    loops = [loop for loop in loops if not loop.same_place or may_be_same_place(drifted, loop)]
    for loop in loops:
        certain = not moves[loop.second] or loop.shift_deg < SAME_VIEW_DEG
        edges.add(loop.first, loop.second, loop.relative, LOOP_WEIGHT if certain else MOVING_LOOP_WEIGHT)
    rotation = average_rotations(
        bridge(chain, part, loops),
        np.array(edges.pairs).reshape(-1, 2),
        np.array(edges.relative).reshape(-1, 3, 3),
        np.array(edges.weights),
    )
    position, has_translation = solve_positions(motions, rotation, loops, tracker.n_frames)
    quality = limit_quality(quality, motions, part, loops)
    models = {
        name: sum(motion.model == name for motion in motions if len(motion.known))
        for name in ("rotation", "homography", "essential")
    }
    return Path(rotation, position, quality, has_translation, models, len(loops))


def _motions(
    tracker: PointTracker, focal: float, centre: np.ndarray, focal_known: bool, generator: np.random.Generator
) -> list[Motion]:
    """Every segment's motion. Moving is believed for the whole clip or not at all: of the frames that turning leaves unexplained,
    it must explain most. Where it explains only some, the picture wobbles and the camera is taken to turn."""
    turned: list[Motion] = []
    moved: list[Motion | None] = []
    unexplained = explained = 0
    for segment in tracker.segments:
        turn, fits = turning(segment, turned[-1] if segment.linked else None, focal, centre, generator)
        motion = moving(turn, fits, moved[-1] if segment.linked else None, focal, centre, focal_known)
        if worst_error(fits) > UNEXPLAINED_PX:
            unexplained += len(fits)
            explained += len(fits) if motion is not None else 0
        turned.append(turn)
        moved.append(motion)
    if explained < MOVING_SHARE * max(1, unexplained):
        return turned
    return [turn if motion is None else motion for turn, motion in zip(turned, moved, strict=True)]


def _chain(
    tracker: PointTracker, motions: list[Motion], focal: float, centre: np.ndarray, generator: np.random.Generator
) -> tuple[_Edges, np.ndarray, np.ndarray]:
    """Edges from keyframes and between neighbours, and the orientations they give when simply multiplied up."""
    n = tracker.n_frames
    edges, chain, quality = _Edges([], [], []), np.tile(np.eye(3), (n, 1, 1)), np.zeros(n)
    quality[0] = 1.0
    links = {link.second: link for link in tracker.links}
    for motion in motions:
        key = motion.segment.key
        if key > 0 and not motion.segment.linked:
            relative, weight = np.eye(3), HOLD_WEIGHT
            if key in links:
                fit = fit_rotation(links[key].points_first, links[key].points_second, focal, centre, generator)
                relative, weight, quality[key] = fit.rotation.T, 1.0, 0.5 * float(fit.inliers.mean())
            edges.add(key - 1, key, relative, weight)
            chain[key] = chain[key - 1] @ relative
        before = np.eye(3)
        for offset, (rotation, known) in enumerate(zip(motion.rotation, motion.known, strict=True), start=1):
            frame, relative = key + offset, rotation.T
            weight = 1.0 if known else HOLD_WEIGHT
            edges.add(key, frame, relative, weight)
            if offset > 1:
                edges.add(frame - 1, frame, before.T @ relative, weight)
            chain[frame], quality[frame], before = chain[key] @ relative, motion.quality[offset - 1], relative
    return edges, chain, quality
