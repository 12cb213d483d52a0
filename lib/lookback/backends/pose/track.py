"""A camera path with its intrinsics, what is known about its quality, and the facts a table shows of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lookback.camera.poses import Poses, net_rotation_deg, rotation_angle_deg, turned_yaw_deg
from lookback.store import Entry

DEAD_BAND_DEG = 0.5  # rotations below this are estimation noise and do not add to the path length
LOOK_AHEAD = 32  # frames compared with an anchor at a time
MAPPED = "mapped linearly"  # said in a note where poses stand for fewer frames than the video has


@dataclass(frozen=True)
class PoseTrack:
    """Poses of some or all frames of a clip. Row k belongs to video frame `frame_index[k]`."""

    c2w: Poses  # (N,4,4)
    intrinsics: np.ndarray  # (N,3,3) in pixels of the video
    confidence: np.ndarray  # (N,) in [0,1]
    has_translation: np.ndarray  # (N,) bool: the position was observed, not only the orientation
    frame_index: np.ndarray  # (N,) int
    flags: dict[str, list[list[int]]] = field(default_factory=dict)  # name: [first frame, one past the last] of each run
    focal_source: str = ""
    notes: tuple[str, ...] = ()

    def entry(self, **facts: Any) -> Entry:
        """The artifact: arrays, and a record with the facts that tables and figures show."""
        arrays: dict[str, np.ndarray] = {
            "c2w": np.asarray(self.c2w, np.float64),
            "intrinsics": np.asarray(self.intrinsics, np.float64),
            "confidence": np.asarray(self.confidence, np.float32),
            "has_translation": np.asarray(self.has_translation, bool),
            "frame_index": np.asarray(self.frame_index, np.int64),
        }
        yaw = turned_yaw_deg(self.c2w)
        record = {
            "flags": self.flags,
            "focal_source": self.focal_source,
            "notes": list(self.notes),
            "total_rotation_deg": round(travelled_rotation_deg(self.c2w), 4),
            "peak_yaw_deg": round(float(yaw[np.argmax(np.abs(yaw))]), 4),
            "return_error_deg": round(net_rotation_deg(self.c2w), 4),
            "confidence": round(float(np.mean(self.confidence)), 4),
            "translation_share": round(float(np.mean(self.has_translation)), 4),
            **facts,
        }
        return Entry(arrays, record)


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
