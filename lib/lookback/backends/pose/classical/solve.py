"""From tracks to a camera path: segments, loops, averaged orientations, and positions up to one scale.

Rotation averaging finds one orientation per frame that agrees best with all measured relative rotations. It minimises
sum w_ij rho(angle(R_ij, R_i^T R_j)) by linear steps in the tangent space (V. Govindu, CVPR 2004; A. Chatterjee, V. Govindu,
ICCV 2013). With world-frame steps R_i <- exp(d_i) R_i each residual is linear in d_j - d_i, so every step solves one graph
Laplacian with three right-hand sides. Positions are averaged with the same Laplacian.

A part is a run of frames that tracks hold together. A cut or a blank stretch ends it, and a recognised view connects it to an
earlier part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_matrix, csc_matrix
from scipy.sparse.linalg import splu
from scipy.spatial.transform import Rotation

from lookback.backends.pose.classical.loops import Loop, find_loops
from lookback.backends.pose.classical.rotation import RotationFit, fit_rotation
from lookback.backends.pose.classical.segments import Motion, depth_at_end, moving, turning, worst_error
from lookback.backends.pose.classical.tracking import PointTracker

UNEXPLAINED_PX = 1.0
MOVING_SHARE = 0.6
AHEAD, EVEN = 0.5, 0.4  # share of a move that goes ahead; spread of inverse depths that shows parallax
LOOP_WEIGHT = 10.0  # a recognised view does not drift, but a chain of tracks does
MOVING_LOOP_WEIGHT = 1.0  # lower where the camera moves, because a step aside looks much like a turn
HOLD_WEIGHT = 1e-4  # connects frames across a cut without changing what was measured
LOSS_DEG = 0.5  # larger residuals lose their weight
AVERAGING_ROUNDS = 8
LOOP_QUALITY = 0.8
SAME_PLACE, SAME_PLACE_DRIFT = 0.02, 0.05  # allowed distance in scene depths, and as a share of the path between the frames
SAME_VIEW_DEG = 1.0  # a view whose points moved less counts as the same view in any case


@dataclass(frozen=True)
class Path:
    """Orientation and position of every frame, and their quality."""

    rotation: np.ndarray  # (N,3,3) camera-to-world
    position: np.ndarray  # (N,3), unit: the median depth of the first part of the scene that showed parallax
    quality: np.ndarray  # (N,)
    has_translation: np.ndarray  # (N,) bool
    models: dict[str, int]  # how many segments each model explains
    n_loops: int


@dataclass
class _Edges:
    """Measured relative rotations R_i^T R_j between frames."""

    pairs: list[tuple[int, int]]
    relative: list[np.ndarray]
    weights: list[float]

    def add(self, i: int, j: int, relative: np.ndarray, weight: float) -> None:
        self.pairs.append((i, j))
        self.relative.append(relative)
        self.weights.append(weight)


def solve_path(tracker: PointTracker, focal: float, centre: np.ndarray, fov_deg: float, focal_known: bool, seed: int) -> Path:
    """The camera path, from all tracks of the clip. `focal` and `centre` are in pixels of the working image."""
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
        connect_parts(chain, part, loops),
        np.array(edges.pairs).reshape(-1, 2),
        np.array(edges.relative).reshape(-1, 3, 3),
        np.array(edges.weights),
    )
    position, has_translation = solve_positions(motions, rotation, loops, tracker.n_frames)
    quality = limit_quality(quality, motions, part, loops)
    models = {
        name: sum(motion.model == name for motion in motions if len(motion.known))
        for name in ("rotation", "homography", "essential", "zoom")
    }
    return Path(rotation, position, quality, has_translation, models, len(loops))


def _motions(
    tracker: PointTracker, focal: float, centre: np.ndarray, focal_known: bool, generator: np.random.Generator
) -> list[Motion]:
    """The motion of every segment.

    Translation is accepted for the whole clip or not at all: it must explain most of the frames that turning does not explain.
    Where it explains only some of them, the picture wobbles and the camera is assumed to turn.
    """
    turned: list[Motion] = []
    all_fits: list[list[RotationFit | None]] = []
    for segment in tracker.segments:
        turn, fits = turning(segment, turned[-1] if segment.linked else None, focal, centre, generator)
        turned.append(turn)
        all_fits.append(fits)
    unexplained = [len(fits) if worst_error(fits) > UNEXPLAINED_PX else 0 for fits in all_fits]
    may_fail = (1 - MOVING_SHARE) * sum(unexplained)
    moved: list[Motion | None] = []
    failed = 0
    for turn, fits, frames in zip(turned, all_fits, unexplained, strict=True):
        if not sum(unexplained) or failed > may_fail:
            return turned  # decided: no need to solve the other segments
        motion = moving(turn, fits, moved[-1] if turn.segment.linked else None, focal, centre, focal_known)
        failed += frames if motion is None else 0
        moved.append(motion)
    if failed > may_fail:
        return turned
    motions = [turn if motion is None else motion for turn, motion in zip(turned, moved, strict=True)]
    if not grows_evenly(motions):
        return motions
    return [
        motion
        if motion.inverse_depth is None
        else replace(motion, translation=np.zeros_like(motion.translation), inverse_depth=None, model="zoom")
        for motion in motions
    ]


def grows_evenly(motions: list[Motion]) -> bool:
    """Whether the picture grows or shrinks without parallax: a zoom, or a move towards something flat.

    A zoom scales all points about the middle, and so does a camera that goes ahead while they are all at one depth. Measured is the
    spread of the inverse depths over their median: at most 0.25 for zooms of the demo's scenes, and 0.57 or more for moves in them.
    Every frame counts the same, and a spread as 1 at most, so that a move that ends in front of a wall stays a move.
    """
    spreads, frames = [], []
    for motion in motions:
        if motion.inverse_depth is not None:
            low, median, high = np.nanpercentile(motion.inverse_depth, [15, 50, 85])
            ways = np.einsum("tji,tj->ti", motion.rotation, motion.translation)  # of the camera, in the keyframe's axes
            farthest = ways[np.linalg.norm(ways, axis=1).argmax()]
            ahead = abs(farthest[2]) > AHEAD * np.linalg.norm(farthest)
            spreads.append(min(1.0, (high - low) / median) if ahead else 1.0)
            frames.append(len(ways))
    return bool(spreads) and float(np.average(spreads, weights=frames)) < EVEN


def _chain(
    tracker: PointTracker, motions: list[Motion], focal: float, centre: np.ndarray, generator: np.random.Generator
) -> tuple[_Edges, np.ndarray, np.ndarray]:
    """Edges from keyframes and between neighbours, and the orientations from multiplying them one after the other."""
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


def number_parts(motions: list[Motion], cuts: list[int], n: int) -> np.ndarray:
    """(N,) the part of each frame. A new part starts at a cut and at every frame that no track reaches."""
    starts = np.zeros(n, np.int64)
    starts[cuts] = 1
    for motion in motions:
        starts[motion.segment.key + 1 : motion.segment.last + 1] |= ~motion.known
    return np.cumsum(starts)


def connect_parts(chain: np.ndarray, part: np.ndarray, loops: list[Loop]) -> np.ndarray:
    """Turn each part to the direction of its first recognised view, so that averaging starts near the solution.

    A part without a recognised view starts with the orientation before it.
    """
    chain = chain.copy()
    for number in range(1, int(part[-1]) + 1):
        inside = part == number
        start = int(np.argmax(inside))
        across = [loop for loop in loops if inside[loop.second] and part[loop.first] < number]
        if across:
            loop = across[0]
            chain[inside] = chain[loop.first] @ loop.relative @ chain[loop.second].T @ chain[inside]
        else:
            chain[inside] = chain[start - 1] @ chain[start].T @ chain[inside]
    return chain


def limit_quality(quality: np.ndarray, motions: list[Motion], part: np.ndarray, loops: list[Loop]) -> np.ndarray:
    """Limit a frame's quality to that of its keyframe, and a part's to that of the view that connects it to the first part."""
    connected = {0}
    for loop in sorted(loops, key=lambda loop: loop.second):
        if part[loop.first] in connected:
            connected.add(int(part[loop.second]))
    recognised = {loop.second for loop in loops if part[loop.first] in connected}
    out = quality.copy()
    for number in range(1, int(part[-1]) + 1):
        out[np.argmax(part == number)] = LOOP_QUALITY if number in connected else 0.0
    for motion in motions:
        key, last = motion.segment.key, motion.segment.last
        confirmed = any(frame in recognised for frame in range(key, last + 1))
        ceiling = max(out[key], LOOP_QUALITY if confirmed else 0.0)
        inside = np.arange(key + 1, last + 1)
        inside = inside[motion.known]
        out[inside] = np.minimum(quality[inside], ceiling)
    return out


def average_rotations(initial: np.ndarray, edges: np.ndarray, relative: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Orientations (N,3,3) camera-to-world with the first fixed.

    `edges` (E,2) frames i, j; `relative` (E,3,3) = R_i^T R_j; `weights` (E,).
    """
    rotations = initial.copy()
    for _ in range(AVERAGING_ROUNDS):
        i, j = edges.T
        predicted = rotations[i] @ relative
        residual = Rotation.from_matrix(predicted @ np.swapaxes(rotations[j], 1, 2)).as_rotvec()
        scale = np.radians(LOSS_DEG)
        robust = weights / (1.0 + (residual**2).sum(axis=1) / scale**2)
        step = solve_laplacian(len(rotations), edges, residual, robust)
        rotations = Rotation.from_rotvec(step).as_matrix() @ rotations
        if np.abs(step).max() < 1e-8:
            break
    return rotations


def solve_laplacian(n: int, edges: np.ndarray, difference: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """x (n,k) with x_0 = 0 that minimises sum_e w_e |x_j - x_i - difference_e|^2 over a connected graph."""
    if n == 1:
        return np.zeros((1, difference.shape[1]))
    rows = np.arange(len(edges))
    signs = np.concatenate([-np.ones(len(edges)), np.ones(len(edges))])
    incidence = coo_matrix((signs, (np.tile(rows, 2), edges.T.ravel())), shape=(len(edges), n)).tocsc()[:, 1:]
    weighted = incidence.multiply(weights[:, None])
    laplacian = csc_matrix(incidence.T @ weighted)
    solution = splu(laplacian).solve(np.asarray(weighted.T @ difference))
    return np.concatenate([np.zeros((1, difference.shape[1])), solution])


def solve_positions(motions: list[Motion], rotation: np.ndarray, loops: list[Loop], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions from the segments that moved. Each is scaled to the first one by the depth of the points they share."""
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
    """Whether the camera can be at an earlier place again, judged by its positions before loops are closed."""
    if loop.shift_deg < SAME_VIEW_DEG:
        return True
    between = position[loop.first : loop.second + 1]
    way = np.linalg.norm(np.diff(between, axis=0), axis=1).sum()
    return bool(np.linalg.norm(between[-1] - between[0]) <= SAME_PLACE + SAME_PLACE_DRIFT * way)


def _scale(depth: np.ndarray, parent: np.ndarray, depth_before: np.ndarray | None, scene_depth: float) -> float:
    """The scale of this segment in the common unit: from shared points, else so that the median depth of the scene stays."""
    if depth_before is not None:
        shared = parent >= 0
        ratio = depth_before[parent[shared]] / depth[shared]
        ratio = ratio[np.isfinite(ratio) & (ratio > 0)]
        if len(ratio) >= 8:
            return float(np.median(ratio))
    return scene_depth / float(np.nanmedian(depth))
