"""The rows of a mask artifact as a backend makes them, frame by frame, and the visibility timeline."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookback.artifacts import Masks
from lookback.artifacts.masks import IN_VIEW, LEAVING, OUT, RETURNED, bounds, pack_masks, working_size
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo

WORKING_SIDE = 256  # the longer side of a stored mask


class MaskRows:
    """One row per frame in the order of the video; a later mask may replace an earlier one (an object found again)."""

    def __init__(self, info: VideoInfo):
        self.size = working_size(info.height, info.width, WORKING_SIDE)
        self.scale = np.tile([info.width / self.size[1], info.height / self.size[0]], 2)
        self.frame_index: list[int] = []
        self.packed: list[np.ndarray] = []
        self.boxes: list[np.ndarray] = []
        self.area: list[float] = []
        self.sides: list[np.ndarray] = []  # which of the picture's sides the mask touches: left, top, right, bottom
        self.confidence: list[float] = []

    def __len__(self) -> int:
        return len(self.frame_index)

    def add(self, index: int, mask: np.ndarray, confidence: float) -> None:
        """The mask (h,w) of the next frame; an empty mask says that the object is out of view."""
        self.frame_index.append(int(index))
        for column, value in zip(self._columns(), self._row(mask, confidence), strict=True):
            column.append(value)

    def replace(self, row: int, mask: np.ndarray, confidence: float) -> None:
        """Another mask for an earlier frame."""
        for column, value in zip(self._columns(), self._row(mask, confidence), strict=True):
            column[row] = value

    def _columns(self) -> tuple[list[Any], ...]:
        return self.packed, self.boxes, self.area, self.sides, self.confidence

    def _row(self, mask: np.ndarray, confidence: float) -> tuple[Any, ...]:
        around = bounds(mask)
        height, width = self.size
        box = np.full(4, np.nan) if around is None else np.array(around) * self.scale
        sides = np.zeros(4, bool) if around is None else np.array(around) == [0, 0, width, height]
        return pack_masks(mask), box, float(mask.mean()), sides, float(np.clip(confidence, 0, 1))

    def finish(self, facts: dict[str, Any]) -> Masks:
        """The artifact; NO_MASK when the object was found in no frame."""
        area = np.array(self.area, np.float32)
        if not (area > 0).any():
            raise NotScorable(Reason.NO_MASK, "the object was found in no frame")
        return Masks(
            frame_index=np.array(self.frame_index, np.int64),
            packed=np.stack(self.packed),
            boxes=np.stack(self.boxes).astype(np.float32),
            area=area,
            state=timeline(area > 0, np.stack(self.sides)),
            confidence=np.array(self.confidence, np.float32),
            shape=(len(self), *self.size),
            facts=facts,
        )


def timeline(seen: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """State codes (N,) from where the object is seen and which sides of the picture it touches (N,4).

    A side that it touches in the first seen frame (a subject cut by the lower border from the start) does not count as leaving.
    """
    first = int(np.argmax(seen))
    leaving = (sides & ~sides[first]).any(1)
    was_out = np.cumsum(~seen & (np.arange(len(seen)) > first)) > 0
    return np.where(~seen, OUT, np.where(leaving, LEAVING, np.where(was_out, RETURNED, IN_VIEW))).astype(np.int8)
