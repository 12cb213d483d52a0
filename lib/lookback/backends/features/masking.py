"""Read the masks that the roles `masks` and `people` stored: packed bits at a working resolution, boxes in video pixels."""

from __future__ import annotations

import cv2
import numpy as np

from lookback.media import VideoInfo
from lookback.store import Entry


class MaskRows:
    """The rows of a mask artifact: row k belongs to video frame `frame_index[k]`."""

    def __init__(self, entry: Entry, info: VideoInfo):
        self.packed = entry.arrays["masks"]
        self.frame_index = entry.arrays["frame_index"]
        self.track = entry.arrays.get("track")
        self.columns = int(entry.record["shape"][2])
        self.scale = np.array([info.height / entry.record["shape"][1], info.width / self.columns])

    def small(self, row: int) -> np.ndarray:
        """The mask at its working resolution."""
        return np.unpackbits(self.packed[row], axis=-1, count=self.columns).astype(bool)

    def mask(self, row: int, shape: tuple[int, int]) -> np.ndarray:
        """The mask at a frame's resolution."""
        return cv2.resize(self.small(row).astype(np.uint8), shape[::-1], interpolation=cv2.INTER_NEAREST).astype(bool)

    def visible(self, min_side: int) -> np.ndarray:
        """Rows whose mask is at least `min_side` video pixels high and wide."""
        return np.array([row for row in range(len(self.packed)) if (self._extent(row) >= min_side).all()], np.int64)

    def _extent(self, row: int) -> np.ndarray:
        mask = self.small(row)
        sides = [np.flatnonzero(mask.any(axis)) for axis in (1, 0)]
        return np.array([0 if len(side) == 0 else side[-1] - side[0] + 1 for side in sides]) * self.scale
