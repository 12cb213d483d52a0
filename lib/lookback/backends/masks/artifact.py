"""Collect the masks of a clip frame by frame, and derive when the object is in view, leaving, out of view and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookback.artifacts import Masks
from lookback.artifacts.masks import IN_VIEW, LEAVING, NOT_KNOWN, OUT, RETURNED, bounds, pack_masks, working_size
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo

WORKING_SIDE = 256  # the longer side of a stored mask


class MaskRows:
    """One row per frame, in the order of the video. A row may be replaced later, when the object is found again."""

    def __init__(self, info: VideoInfo):
        self.size = working_size(info.height, info.width, WORKING_SIDE)
        self.scale = np.tile([info.width / self.size[1], info.height / self.size[0]], 2)
        self.frame_index: list[int] = []
        self.packed: list[np.ndarray] = []
        self.boxes: list[np.ndarray] = []
        self.area: list[float] = []
        self.sides: list[np.ndarray] = []  # whether the mask touches the left, top, right and bottom side of the picture
        self.confidence: list[float] = []
        self.identity: dict[int, float] = {}  # row: evidence of a check
        self.doubts: dict[int, str] = {}  # row without a mask: why it is not known whether the object is in view

    def __len__(self) -> int:
        return len(self.frame_index)

    def add(self, index: int, mask: np.ndarray, confidence: float) -> None:
        """Add the mask (h,w) of the next frame. An empty mask means that the object is out of view."""
        self.frame_index.append(int(index))
        for column, value in zip(self._columns(), self._row(mask, confidence), strict=True):
            column.append(value)

    def replace(self, row: int, mask: np.ndarray, confidence: float) -> None:
        """Put another mask at an earlier frame."""
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
            state=np.where(self._doubtful(area), NOT_KNOWN, timeline(area > 0, np.stack(self.sides))).astype(np.int8),
            confidence=np.array(self.confidence, np.float32),
            identity=self._identity(),
            not_known=self._reasons(area),
            shape=(len(self), *self.size),
            facts=facts,
        )

    def _doubtful(self, area: np.ndarray) -> np.ndarray:
        return np.array([row in self.doubts and area[row] == 0 for row in range(len(self))])

    def _identity(self) -> np.ndarray | None:
        if not self.identity:
            return None
        return np.array([self.identity.get(row, np.nan) for row in range(len(self))], np.float32)

    def _reasons(self, area: np.ndarray) -> dict[str, list[list[int]]]:
        """The runs of frames of each reason."""
        runs: dict[str, list[list[int]]] = {}
        for row in np.flatnonzero(self._doubtful(area)):
            frame, own = self.frame_index[row], runs.setdefault(self.doubts[int(row)], [])
            if own and own[-1][1] == frame:
                own[-1][1] = frame + 1
            else:
                own.append([frame, frame + 1])
        return runs


def timeline(seen: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """State codes (N,) from the frames where the object is seen and the sides of the picture that it touches (N,4).

    A side that it touches in the first seen frame (such as a subject cut by the lower border) does not count as leaving.
    """
    first = int(np.argmax(seen))
    leaving = (sides & ~sides[first]).any(1)
    was_out = np.cumsum(~seen & (np.arange(len(seen)) > first)) > 0
    return np.where(~seen, OUT, np.where(leaving, LEAVING, np.where(was_out, RETURNED, IN_VIEW))).astype(np.int8)
