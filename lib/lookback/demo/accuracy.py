"""Compare estimated poses and masks with the demo world's truth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cv2
import numpy as np
import pandas as pd

from lookback.artifacts import Masks, PoseTrack, RunArtifacts
from lookback.artifacts.masks import unpack_masks
from lookback.camera.poses import align_first_frame, rotation_angle_deg
from lookback.clips import KEYS, Clip
from lookback.paths import resolve

VISIBLE = 0.5  # masks are compared where at least this share of the subject is in view
HIDDEN = 0.02  # share below which it counts as out of view


def accuracy_table(clips: Iterable[Clip], artifacts: RunArtifacts, truth: pd.DataFrame) -> pd.DataFrame:
    """One row per clip: median rotation error, error at the return, mask IoU while visible, share of right visibility states."""
    records = {tuple(row[name] for name in KEYS): row for row in truth.to_dict("records")}
    rows = []
    for clip in clips:
        known = records.get(clip.key)
        if known is None:
            continue
        with np.load(resolve(known["record"]), allow_pickle=False) as archive:
            true = {name: archive[name] for name in archive.files}
        row: dict[str, Any] = dict(zip(KEYS, clip.key, strict=True)) | {"failure": known["failure"], "severity": known["severity"]}
        if (pose := artifacts.load(clip, PoseTrack)) is not None:
            row |= {"pose_backend": (artifacts.row(clip, PoseTrack.role) or {})["backend"], **pose_errors(pose, true["c2w"])}
        if (masks := artifacts.load(clip, Masks)) is not None:
            row |= mask_errors(masks, unpack_masks(true["subject_mask"], int(true["width"])), true["visibility"])
        rows.append(row)
    columns = [*KEYS, "failure", "severity", "pose_backend", "rotation_error_deg", "return_error_deg", "iou", "state_accuracy"]
    return pd.DataFrame(rows).reindex(columns=columns)


def pose_errors(pose: PoseTrack, true_c2w: np.ndarray) -> dict[str, float]:
    """Median geodesic error after first-frame alignment, and the error of the last frame."""
    truth = true_c2w[pose.frame_index]
    angles = rotation_angle_deg(truth, align_first_frame(truth, pose.c2w))
    return {"rotation_error_deg": float(np.median(angles)), "return_error_deg": float(angles[-1])}


def mask_errors(masks: Masks, true_masks: np.ndarray, visibility: np.ndarray) -> dict[str, float]:
    """Mean IoU over frames where the subject is in view, and the share of frames with the right in/out state."""
    frames, found = masks.frame_index, masks.all()
    height, width = masks.size
    overlaps = []
    for row, frame in enumerate(frames):
        if visibility[frame] >= VISIBLE:
            true = cv2.resize(true_masks[frame].astype(np.uint8), (width, height), interpolation=cv2.INTER_AREA).astype(bool)
            union = (found[row] | true).sum()
            overlaps.append((found[row] & true).sum() / union if union else 1.0)
    seen = visibility[frames]
    clear = (seen >= VISIBLE) | (seen <= HIDDEN)  # in between, both answers count as right
    right = masks.in_view == (seen >= VISIBLE)
    return {
        "iou": float(np.mean(overlaps)) if overlaps else float("nan"),
        "state_accuracy": float((right | ~clear).mean()),
    }
