"""From faces to bodies: the box a standing person's body would fill, and the artifact of person masks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo
from lookback.store import Entry

# In units of the face box, by the figure of seven and a half heads: hair above, shoulders beside, feet below.
ABOVE, BESIDE, BELOW = 0.4, 1.2, 6.5
WORKING_SIDE = 320  # the longer side of a stored mask


def body_boxes(faces: np.ndarray, height: int, width: int) -> np.ndarray:
    """Boxes (K,4) around the bodies under the face boxes (K,4), cut at the picture's border."""
    w, h = faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1]
    boxes = np.stack([faces[:, 0] - BESIDE * w, faces[:, 1] - ABOVE * h, faces[:, 2] + BESIDE * w, faces[:, 3] + BELOW * h], 1)
    return np.clip(boxes, 0, [width, height, width, height])


def working_size(height: int, width: int) -> tuple[int, int]:
    """The stored mask's size: at most WORKING_SIDE on the longer side."""
    scale = min(1.0, WORKING_SIDE / max(height, width))
    return max(1, round(height * scale)), max(1, round(width * scale))


def face_rows(artifacts: Mapping[str, Entry]) -> dict[str, np.ndarray]:
    """The arrays of the role `faces`, if it found any."""
    entry = artifacts.get("faces")
    if entry is None:
        raise NotScorable(Reason.NO_FACE, "there is no artifact of the role 'faces' for this clip")
    return entry.arrays


class PeopleJob:
    """Person masks of the frames with faces: one row per face, in the faces' order. Subclasses say how a mask is made."""

    def __init__(self, faces: dict[str, np.ndarray], info: VideoInfo, record: dict[str, Any]):
        self.faces, self.info, self.record = faces, info, record
        self.wants = np.unique(faces["frame"])
        self.size = working_size(info.height, info.width)
        self.masks = np.zeros((len(faces["frame"]), *self.size), bool)

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        for index, frame in zip(indices, frames, strict=True):
            rows = np.flatnonzero(self.faces["frame"] == index)
            self.masks[rows] = self.segment(frame, self.faces["box"][rows].astype(np.float64))

    def segment(self, frame: np.ndarray, faces: np.ndarray) -> np.ndarray:
        """Masks (k,h,w) at the working size of the people under the face boxes (k,4) of one frame."""
        raise NotImplementedError

    def finish(self) -> Entry:
        height, width = self.size
        scale = np.array([self.info.width / width, self.info.height / height])
        boxes = np.full((len(self.masks), 4), np.nan, np.float32)
        border = np.zeros(len(self.masks), bool)
        for row, mask in enumerate(self.masks):
            columns, rows = np.flatnonzero(mask.any(0)), np.flatnonzero(mask.any(1))
            if len(columns):
                corners = np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])
                boxes[row] = corners * np.tile(scale, 2)
                border[row] = corners[0] == 0 or corners[1] == 0 or corners[2] == width or corners[3] == height
        found = ~np.isnan(boxes[:, 0])
        if not found.any():
            raise NotScorable(Reason.NO_MASK, "no person could be cut out under any face")
        arrays = {
            "masks": np.packbits(self.masks, axis=-1),
            "boxes": boxes,
            "area": self.masks.mean((1, 2)).astype(np.float32),
            "state": np.where(found, np.where(border, 2, 1), 0).astype(np.int8),
            "confidence": self.faces["score"].astype(np.float32),
            "frame_index": self.faces["frame"].astype(np.int64),
            "track": self.faces["track"].astype(np.int64),
        }
        legend = {"0": "out", "1": "in_view", "2": "leaving (touches the border)"}
        return Entry(arrays, {**self.record, "shape": list(self.masks.shape), "states": legend, "n_people": int(found.sum())})
