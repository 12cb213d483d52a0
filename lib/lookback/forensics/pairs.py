"""Which frames are held against which: a late frame and what should be seen from there.

Where the clip has a ground-truth video, the reference is its frame of the same moment; else it is the early frame with the nearest
camera, from before the camera turned away. A static camera compares its last frames with its first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookback.camera.poses import Poses, rotation_angle_deg

PAIRS = 3
MAX_TURN_DEG = 12.0  # farther apart, too little of the reference is in the late view
MAX_SHIFT = 0.25  # of the path's extent: farther apart, parallax cannot be told from a bent world
STATIC_DEG = 4.0
LATE = 0.3  # share of the clip after which a frame may be late


@dataclass(frozen=True)
class Pair:
    """A late frame, its reference (frame of the clip, or of the ground truth) and the turn between their cameras (3,3)."""

    frame: int
    reference: int
    from_truth: bool
    turn: NDArray[np.float64]  # takes directions of the late camera to those of the reference camera


def truth_pairs(c2w: Poses, truth: Poses | None, match: NDArray[np.int64], n_truth: int, seen: NDArray[np.bool_]) -> list[Pair]:
    """Late frames against the ground truth of the same moment.

    `match` names the ground-truth frame of every frame, `truth` its camera there; `seen` marks where the subject should be in view.
    """
    late = np.flatnonzero(seen & (np.arange(len(c2w)) >= LATE * len(c2w)))
    if not len(late):
        late = np.arange(int(LATE * len(c2w)), len(c2w))
    pairs = []
    for frame in late[np.unique(np.linspace(0, len(late) - 1, PAIRS).round().astype(int))].tolist():
        turn = np.eye(3)
        if truth is not None:
            turn = (truth[0, :3, :3].T @ truth[frame, :3, :3]).T @ (c2w[0, :3, :3].T @ c2w[frame, :3, :3])
        if match[frame] < n_truth and rotation_angle_deg(np.eye(3), turn) <= MAX_TURN_DEG:
            pairs.append(Pair(frame, int(match[frame]), True, turn))
    return pairs


def revisit_pairs(c2w: Poses, has_translation: NDArray[np.bool_]) -> list[Pair]:
    """Late frames against the early frame of the nearest camera, the widest spans of time first."""
    last = len(c2w) - 1
    away = rotation_angle_deg(c2w[0], c2w)
    moved = np.where(has_translation, np.linalg.norm(c2w[:, :3, 3] - c2w[0, :3, 3], axis=1), 0.0)
    extent = float(moved.max())
    turning = int(np.argmax(away / 10.0 + (moved / extent if extent > 0 else 0.0)))
    if (away.max() < STATIC_DEG and extent == 0) or turning in (0, last):
        late = np.unique(np.linspace(0.75 * last, last, PAIRS).round().astype(int))
        return [Pair(int(frame), 0, False, c2w[0, :3, :3].T @ c2w[frame, :3, :3]) for frame in late]
    early = np.arange(turning)
    late = np.arange(turning + 1, last + 1)
    angle = rotation_angle_deg(c2w[late][:, None], c2w[early][None])
    shift = np.linalg.norm(c2w[late][:, None, :3, 3] - c2w[early][None, :, :3, 3], axis=-1) / extent if extent > 0 else 0 * angle
    shift = np.where(has_translation[late][:, None] & has_translation[early][None], shift, 0.0)
    nearest = (angle / MAX_TURN_DEG + shift / MAX_SHIFT).argmin(axis=1)
    rows = np.arange(len(late))
    good = (angle[rows, nearest] <= MAX_TURN_DEG) & (shift[rows, nearest] <= MAX_SHIFT)
    # where the subject was first seen the camera is near its first pose: prefer late frames that look there
    order = np.flatnonzero(good)[np.argsort(away[late[good]] + 10 * moved[late[good]] / max(extent, 1e-9), kind="stable")]
    kept = order[: max(1, len(order) // 3)]
    kept = kept[np.unique(np.linspace(0, len(kept) - 1, PAIRS).round().astype(int))] if len(kept) else kept
    return [
        Pair(int(late[k]), int(early[nearest[k]]), False, c2w[early[nearest[k]], :3, :3].T @ c2w[late[k], :3, :3])
        for k in sorted(kept.tolist())
    ]


def nearest_early(c2w: Poses, has_translation: NDArray[np.bool_], frame: int) -> int | None:
    """The frame of the first third whose camera is nearest to that of `frame`, or None when none is near enough."""
    early = np.arange(max(1, len(c2w) // 3))
    early = early[early < frame]
    if not len(early):
        return None
    angle = rotation_angle_deg(c2w[frame], c2w[early])
    far = np.linalg.norm(c2w[early, :3, 3] - c2w[frame, :3, 3], axis=1)
    extent = float(np.linalg.norm(c2w[:, :3, 3] - c2w[0, :3, 3], axis=1).max())
    shift = np.where(has_translation[early] & has_translation[frame], far, 0.0) / (extent if extent > 0 else 1.0)
    cost = angle / MAX_TURN_DEG + shift / MAX_SHIFT
    best = int(cost.argmin())
    return int(early[best]) if angle[best] <= MAX_TURN_DEG and shift[best] <= MAX_SHIFT else None
