"""Which frames are compared: MBench's frame pairs, and MemoBench's phases with their ground-truth frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.camera.poses import Poses, rotation_angle_deg
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant, require_poses, require_variant

MAX_FOLD_PAIRS = 20
MAX_SEGMENT_PAIRS = 5
TRANSLATION_SCALE = 0.1  # of the pose-return score, in world units
ROTATION_SCALE_DEG = 10.0  # of the pose-return score
MIN_SIDE_FRAMES = 2  # with fewer frames before or after the turnaround there is no departure or return (ours)
MIN_EXCURSION = 0.01  # combined distance of the turnaround below which the camera stood still: 1.8 deg or 0.01 units (ours)


@dataclass(frozen=True)
class FramePairs:
    """Pairs (P,2) of frame indices i < j with their pose distance or return score; `note` is set when a fallback chose them."""

    pairs: NDArray[np.int64]
    values: NDArray[np.float64]
    turnaround: int | None = None
    note: str = ""

    def __len__(self) -> int:
        return len(self.pairs)


def pose_distance(from_poses: Poses, to_poses: Poses) -> NDArray[np.float64]:
    """|t_i - t_j| + angle(R_i, R_j) / 180 for every i and j, as (N,M): the distance inside MBench eq. 18."""
    translation = np.linalg.norm(from_poses[:, None, :3, 3] - to_poses[None, :, :3, 3], axis=-1)
    return translation + rotation_angle_deg(from_poses[:, None], to_poses[None]) / 180.0


def fold_pairs(c2w: ArrayLike, *, max_pairs: int = MAX_FOLD_PAIRS) -> FramePairs:
    """Each outbound frame with the inbound frame nearest in pose (MBench eq. 18), the `max_pairs` of largest time span.

    The turnaround is the frame farthest from the first pose. When there is no clear one (too few frames on a side of it, or a
    camera that stood still) the pairs are symmetric in time, (i, N-1-i), and the note says so.
    """
    poses = require_poses(c2w, at_least=3)
    from_first = pose_distance(poses[:1], poses)[0]
    turn = int(np.argmax(from_first))
    last = len(poses) - 1
    if from_first[turn] < MIN_EXCURSION or min(turn, last - turn) < MIN_SIDE_FRAMES:
        return _symmetric_pairs(poses, max_pairs)
    distance = pose_distance(poses[:turn], poses[turn + 1 :])
    nearest = distance.argmin(axis=1)
    outbound = np.arange(turn)
    kept = _largest_spans(outbound, turn + 1 + nearest, max_pairs)
    pairs = np.column_stack([outbound, turn + 1 + nearest])[kept]
    return FramePairs(pairs, distance[outbound, nearest][kept], turnaround=turn)


def _symmetric_pairs(poses: Poses, max_pairs: int) -> FramePairs:
    first = np.arange(len(poses) // 2)
    second = len(poses) - 1 - first
    apart = second - first >= 2  # two neighbouring frames are not a return
    first, second = first[apart][:max_pairs], second[apart][:max_pairs]
    values = pose_distance(poses[first], poses[second]).diagonal().copy()
    return FramePairs(np.column_stack([first, second]), values, note="no clear turnaround: pairs symmetric in time")


def _largest_spans(first: NDArray[np.int64], second: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Indices of the `count` largest spans, in order of time; earlier frames win ties."""
    order = np.lexsort((first, -(second - first)))
    return np.sort(order[:count])


def caption_segment_pairs(c2w: ArrayLike, segments: Sequence[ArrayLike], *, max_pairs: int = MAX_SEGMENT_PAIRS) -> FramePairs:
    """Frames of caption segments 0-1 against frames of segments M-2..M-1, best returns first (MBench appendix B.1, T).

    `segments` holds the sampled frame indices of each of the M segments. Ranked by exp(-|dt|/0.1 - angle/10), then by time span.
    """
    poses = require_poses(c2w, at_least=2)
    if len(segments) < 2:
        raise NotScorable(Reason.NOT_APPLICABLE, f"{len(segments)} caption segments, a return needs at least 2")
    early = np.unique(np.concatenate([np.asarray(frames, dtype=np.int64) for frames in segments[:2]]))
    late = np.unique(np.concatenate([np.asarray(frames, dtype=np.int64) for frames in segments[-2:]]))
    if early.size == 0 or late.size == 0:
        raise NotScorable(Reason.TOO_SHORT, "the first or the last caption segments have no frame")
    if min(early[0], late[0]) < 0 or max(early[-1], late[-1]) >= len(poses):
        raise NotScorable(Reason.INVALID_INPUT, f"a segment names a frame outside the {len(poses)} poses")
    i, j = (grid.ravel() for grid in np.meshgrid(early, late, indexing="ij"))
    i, j = i[j - i >= 2], j[j - i >= 2]  # two neighbouring frames are not a return
    if i.size == 0:
        raise NotScorable(Reason.TOO_SHORT, "the early and the late caption segments are the same frames")
    translation = np.linalg.norm(poses[i, :3, 3] - poses[j, :3, 3], axis=1)
    score = np.exp(-translation / TRANSLATION_SCALE - rotation_angle_deg(poses[i], poses[j]) / ROTATION_SCALE_DEG)
    order = np.lexsort((i, -(j - i), -score))[:max_pairs]
    return FramePairs(np.column_stack([i, j])[order], score[order])


Phase = Literal["V", "D", "R"]
PHASES: tuple[Phase, ...] = ("V", "D", "R")
MIN_FRAMES = 5  # the clamps below need this many


def phase_map(d_start: int, r_start: int, gt_frames: int, n_frames: int) -> tuple[int, int]:
    """(d_start, r_start) of the ground truth mapped to a generated video of `n_frames` (MemoBench section 3.2, released code).

    d = round(d_start / gt_frames * n) clamped to [2, n-4]; r = round(r_start / gt_frames * n) clamped to [d+2, n-1]; Python's
    round.
    """
    if gt_frames <= 0 or not 0 <= d_start <= r_start <= gt_frames:
        raise NotScorable(Reason.NO_PHASES, f"0 <= d_start {d_start} <= r_start {r_start} <= gt_frames {gt_frames} does not hold")
    if n_frames < MIN_FRAMES:
        raise NotScorable(Reason.TOO_SHORT, f"{n_frames} frames cannot hold three phases, {MIN_FRAMES} are needed")
    disappear = max(2, min(round(d_start / gt_frames * n_frames), n_frames - 4))
    return disappear, max(disappear + 2, min(round(r_start / gt_frames * n_frames), n_frames - 1))


def phase_spans(d_start: int, r_start: int, n_frames: int, *, variant: Variant = "paper") -> dict[Phase, tuple[int, int]]:
    """First and last frame of each phase, both inclusive.

    Paper: V = [0, d), D = [d, r), R = [r, N-1]. Official: both ends inclusive, so that frames d and r count in two phases.
    """
    require_variant(variant, ("paper", "official"))
    if not 0 < d_start < r_start < n_frames:
        raise NotScorable(Reason.NO_PHASES, f"0 < d_start {d_start} < r_start {r_start} < n_frames {n_frames} does not hold")
    overlap = 1 if variant == "official" else 0
    return {"V": (0, d_start - 1 + overlap), "D": (d_start, r_start - 1 + overlap), "R": (r_start, n_frames - 1)}


def phase_frames(d_start: int, r_start: int, n_frames: int, *, variant: Variant = "paper") -> dict[Phase, NDArray[np.int64]]:
    """The frame indices of each phase."""
    spans = phase_spans(d_start, r_start, n_frames, variant=variant)
    return {phase: np.arange(first, last + 1) for phase, (first, last) in spans.items()}


def ground_truth_index(n: int, gt_first: int, gt_last: int) -> NDArray[np.int64]:
    """round(gt_first + i (gt_last - gt_first) / (n - 1)) for i < n: linear within a phase, or over the whole video."""
    if n < 1:
        raise NotScorable(Reason.TOO_SHORT, "no frame to map")
    if n == 1:
        return np.array([gt_first], dtype=np.int64)
    return np.rint(gt_first + np.arange(n) * (gt_last - gt_first) / (n - 1)).astype(np.int64)


def ground_truth_pairs(
    d_start: int, r_start: int, gt_frames: int, n_frames: int, *, variant: Variant = "paper"
) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """(generated frames, ground-truth frames) of V, D, R and of the whole video (key ""), as fidelity compares them."""
    mapped = phase_map(d_start, r_start, gt_frames, n_frames)
    generated, truth = phase_spans(*mapped, n_frames, variant=variant), phase_spans(d_start, r_start, gt_frames, variant=variant)
    pairs: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
    for phase in PHASES:
        frames = np.arange(generated[phase][0], generated[phase][1] + 1)
        pairs[phase] = (frames, ground_truth_index(len(frames), *truth[phase]))
    pairs[""] = (np.arange(n_frames), ground_truth_index(n_frames, 0, gt_frames - 1))
    return pairs
