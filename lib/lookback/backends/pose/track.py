"""The facts that a table shows of a camera path."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lookback.artifacts import PoseTrack
from lookback.camera.poses import Poses, net_rotation_deg, rotation_angle_deg, turned_yaw_deg

DEAD_BAND_DEG = 0.5  # rotations below this are estimation noise and do not add to the path length
LOOK_AHEAD = 32  # frames compared with an anchor at a time


def with_facts(track: PoseTrack, **facts: Any) -> PoseTrack:
    """The path with the facts that tables and figures show of it."""
    yaw = turned_yaw_deg(track.c2w)
    measured = {
        "total_rotation_deg": round(travelled_rotation_deg(track.c2w), 4),
        "peak_yaw_deg": round(float(yaw[np.argmax(np.abs(yaw))]), 4),
        "return_error_deg": round(net_rotation_deg(track.c2w), 4),
        "confidence": round(float(np.mean(track.confidence)), 4),
        "translation_share": round(float(np.mean(track.has_translation)), 4),
    }
    return replace(track, facts={**measured, **facts})


def travelled_rotation_deg(c2w: Poses, dead_band_deg: float = DEAD_BAND_DEG) -> float:
    """Length of the rotation path without its jitter.

    The sum of the angles between anchor frames, where the next anchor is the first frame that is more than the dead band away
    from the last one. A camera that trembles within the dead band has travelled nothing; a plain sum of the angles between
    consecutive frames would count the tremble once per frame.
    """
    total, anchor, start = 0.0, 0, 1
    while start < len(c2w):
        angles = rotation_angle_deg(c2w[anchor], c2w[start : start + LOOK_AHEAD])
        beyond = np.flatnonzero(angles > dead_band_deg)
        if len(beyond):
            total += float(angles[beyond[0]])
            anchor = start + int(beyond[0])
            start = anchor + 1
        else:
            start += len(angles)
    return total


def runs(marked: np.ndarray, frame_index: np.ndarray) -> list[list[int]]:
    """Runs of True as [first frame, one past the last frame]."""
    padded = np.concatenate([[False], np.asarray(marked, bool), [False]])
    edges = np.flatnonzero(padded[1:] != padded[:-1])
    return [[int(frame_index[a]), int(frame_index[b - 1]) + 1] for a, b in zip(edges[::2], edges[1::2], strict=True)]
