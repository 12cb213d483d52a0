"""From tracks to a camera path: segments, loops, averaged orientations, positions up to one scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookback.backends.pose.classical.averaging import average_rotations, solve_laplacian
from lookback.backends.pose.classical.loops import Loop, find_loops
from lookback.backends.pose.classical.rotation import fit_rotation
from lookback.backends.pose.classical.segments import Motion, depth_at_end, moving, turning, worst_error
from lookback.backends.pose.classical.tracking import PointTracker

UNEXPLAINED_PX = 1.0
MOVING_SHARE = 0.6
LOOP_WEIGHT = 10.0  # a recognised view does not drift, a chain does
MOVING_LOOP_WEIGHT = 1.0  # unless the camera moves: a step aside looks much like a turn
SAME_PLACE, SAME_PLACE_DRIFT = 0.02, 0.05  # distance in scene depths, and its share of the way between
SAME_VIEW_DEG = 1.0  # a view whose points moved less is the same one, whatever the drift says
HOLD_WEIGHT = 1e-4  # keeps frames together across a cut without pulling at anything measured
LOOP_QUALITY = 0.8


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
    broken = np.zeros(tracker.n_frames, np.int64)
    for cut in tracker.cuts:
        broken[cut:] += 1
    drifted, moves = _positions(motions, chain, [], tracker.n_frames)
    loops = find_loops(tracker.views, chain, broken, fov_deg, focal, centre, bool(moves.any()), generator)
    loops = [loop for loop in loops if not loop.same_place or _may_be_same_place(drifted, loop)]
    for loop in loops:
        certain = not moves[loop.second] or loop.shift_deg < SAME_VIEW_DEG
        edges.add(loop.first, loop.second, loop.relative, LOOP_WEIGHT if certain else MOVING_LOOP_WEIGHT)
    chain = _bridge_cuts(chain, tracker.cuts, broken, loops)
    rotation = average_rotations(
        chain, np.array(edges.pairs).reshape(-1, 2), np.array(edges.relative).reshape(-1, 3, 3), np.array(edges.weights)
    )
    position, has_translation = _positions(motions, rotation, loops, tracker.n_frames)
    quality = _propagate(quality, motions, loops, broken)
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
        turn, fits = turning(segment, focal, centre, generator)
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


def _bridge_cuts(chain: np.ndarray, cuts: list[int], broken: np.ndarray, loops: list[Loop]) -> np.ndarray:
    """Turn each part after a cut to where its first recognised view says it looks, so that averaging starts near the answer."""
    chain = chain.copy()
    for number, cut in enumerate(cuts, start=1):
        part = broken == number
        across = [loop for loop in loops if part[loop.second] and broken[loop.first] < number]
        if across:
            loop = across[0]
            chain[part] = chain[loop.first] @ loop.relative @ chain[loop.second].T @ chain[part]
        else:
            chain[part] = chain[cut - 1] @ chain[cut].T @ chain[part]
    return chain


def _positions(motions: list[Motion], rotation: np.ndarray, loops: list[Loop], n: int) -> tuple[np.ndarray, np.ndarray]:
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


def _may_be_same_place(position: np.ndarray, loop: Loop) -> bool:
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


def _propagate(quality: np.ndarray, motions: list[Motion], loops: list[Loop], broken: np.ndarray) -> np.ndarray:
    """A frame is known no better than the keyframe it hangs on, unless a recognised view vouches for it."""
    recognised = {loop.second for loop in loops if broken[loop.first] == 0}
    out = quality.copy()
    for motion in motions:
        key, last = motion.segment.key, motion.segment.last
        vouched = any(frame in recognised for frame in range(key, last + 1))
        ceiling = max(out[key], LOOP_QUALITY if vouched else 0.0)
        out[key + 1 : last + 1] = np.minimum(quality[key + 1 : last + 1], ceiling)
        out[key] = max(out[key], LOOP_QUALITY if key in recognised else 0.0)
    return out
