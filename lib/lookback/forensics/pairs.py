"""Frame pairs: which late frame is compared with which reference, and how the two are aligned.

If the clip has a ground-truth video, the reference is the ground-truth frame of the same moment. Otherwise it is the early frame
with the nearest camera, from before the camera turned away. With a static camera the last frames are compared with the first.
The late frame is then warped into the view of its reference, so that both can be compared pixel by pixel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.camera.poses import Poses, rotation_angle_deg

Image = NDArray[np.float32]
Mask = NDArray[np.bool_]

PAIRS = 3
MAX_TURN_DEG = 12.0  # with a larger turn, too little of the reference is in the late view
MAX_SHIFT = 0.25  # of the path's extent: with a larger shift, parallax looks like a bent world
STATIC_DEG = 4.0
LATE = 0.3  # a frame counts as late after this share of the clip
DILATE = 0.03  # of the width: this margin around a mask counts neither as subject nor as background


@dataclass(frozen=True)
class Pair:
    """A late frame, its reference (a frame of the clip or of the ground truth) and the rotation (3,3) between their cameras."""

    frame: int
    reference: int
    from_truth: bool
    turn: NDArray[np.float64]  # turns directions of the late camera into directions of the reference camera


def truth_pairs(c2w: Poses, truth: Poses | None, match: NDArray[np.int64], n_truth: int, seen: NDArray[np.bool_]) -> list[Pair]:
    """Late frames, each with the ground-truth frame of the same moment.

    `match` gives the ground-truth frame of every frame, `truth` the camera of that frame. `seen` marks the frames in which the
    subject should be in view.
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
    """Late frames, each with the early frame whose camera is nearest."""
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
    # the camera saw the subject near its first pose, so late frames that look there are preferred
    order = np.flatnonzero(good)[np.argsort(away[late[good]] + 10 * moved[late[good]] / max(extent, 1e-9), kind="stable")]
    kept = order[: max(1, len(order) // 3)]
    kept = kept[np.unique(np.linspace(0, len(kept) - 1, PAIRS).round().astype(int))] if len(kept) else kept
    return [
        Pair(int(late[k]), int(early[nearest[k]]), False, c2w[early[nearest[k]], :3, :3].T @ c2w[late[k], :3, :3])
        for k in sorted(kept.tolist())
    ]


def nearest_early(c2w: Poses, has_translation: NDArray[np.bool_], frame: int) -> int | None:
    """The frame in the first third whose camera is nearest to that of `frame`; None if none is near enough."""
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


@dataclass(frozen=True)
class Aligned:
    """A reference and a late frame, both in the view of the reference, as float RGB in [0,1]."""

    reference: Image
    late: Image
    valid: Mask  # pixels that the late frame covers
    subject: Mask  # the subject in the reference
    subject_late: Mask  # the subject in the late frame

    @cached_property
    def background(self) -> Mask:
        """Pixels that neither subject mask covers, with a margin around them."""
        reach = max(3, round(DILATE * self.valid.shape[1]))
        both = grown(self.subject | self.subject_late, reach)
        return self.valid & ~both


def grown(mask: Mask, pixels: int) -> Mask:
    """The mask grown by this many pixels."""
    if not mask.any():
        return mask.copy()
    return np.asarray(cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, 3) <= pixels)


def rotation_homography(intrinsics: NDArray[np.float64], turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """K R K^-1: maps a pixel of the late frame into the view of the reference, for a camera that only turned."""
    return intrinsics @ turn @ np.linalg.inv(intrinsics)


def as_float(image: NDArray[np.uint8]) -> Image:
    """8-bit values as floats in [0,1]."""
    return np.asarray(image, np.float32) / np.float32(255)


def align(
    reference: NDArray[np.uint8],
    late: NDArray[np.uint8],
    subject: Mask,
    subject_late: Mask,
    matrix: NDArray[np.float64],
) -> Aligned:
    """Warp the late frame and its mask into the view of the reference with the homography `matrix` (late to reference)."""
    size = (reference.shape[1], reference.shape[0])
    warped = np.asarray(cv2.warpPerspective(late, matrix, size, flags=cv2.INTER_LINEAR), np.uint8)
    inside = cv2.warpPerspective(np.ones(late.shape[:2], np.uint8), matrix, size, flags=cv2.INTER_NEAREST)
    there = cv2.warpPerspective(subject_late.astype(np.uint8), matrix, size, flags=cv2.INTER_NEAREST)
    inside = np.asarray(cv2.erode(inside, np.ones((5, 5), np.uint8), borderType=cv2.BORDER_CONSTANT, borderValue=0))
    return Aligned(as_float(reference), as_float(warped), inside.astype(bool), subject, there.astype(bool))
