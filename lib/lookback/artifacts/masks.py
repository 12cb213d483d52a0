"""The roles `masks` (the followed object) and `people`: packed masks at a working size, boxes, and the visibility per frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.artifacts.base import Array, Fact, FrameRows

NOT_KNOWN, OUT, IN_VIEW, LEAVING, RETURNED = -1, 0, 1, 2, 3
STATES = {
    "-1": "not known (the fact `not_known` gives the reason)",
    "0": "out",
    "1": "in_view",
    "2": "leaving (touches the border)",
    "3": "returned (whole in view after it was out)",
}
PEOPLE_STATES = {
    code: STATES[code] for code in ("0", "1", "2")
}  # people are found in each frame separately, so the state "returned" does not exist


def pack_masks(masks: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Masks (...,H,W) as bits (...,H,ceil(W/8)): eight pixels per byte, the leftmost in the highest bit."""
    return np.packbits(masks, axis=-1)


def unpack_masks(packed: NDArray[np.uint8], width: int) -> NDArray[np.bool_]:
    """The masks from the bits of `pack_masks`."""
    return np.unpackbits(packed, axis=-1, count=width).astype(bool)


def working_size(height: int, width: int, longest: int) -> tuple[int, int]:
    """(height, width) of stored masks: the video's, at most `longest` on the longer side."""
    scale = min(1.0, longest / max(height, width))
    return max(1, round(height * scale)), max(1, round(width * scale))


def bounds(mask: NDArray[np.generic]) -> tuple[int, int, int, int] | None:
    """(x0, y0, x1, y1) around a mask, ends exclusive; None when it is empty."""
    columns, rows = np.flatnonzero(mask.any(0)), np.flatnonzero(mask.any(1))
    if not len(columns):
        return None
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Masks(FrameRows):
    """One mask per row, in the order of the video."""

    role: ClassVar[str] = "masks"
    packed: Annotated[
        NDArray[np.uint8], Array("N H B", "masks as bits: eight pixels of a row per byte, B = ceil(width / 8)", name="masks")
    ]
    boxes: Annotated[NDArray[np.float32], Array("N 4", "x0 y0 x1 y1 in pixels of the video, ends exclusive; NaN when out of view")]
    area: Annotated[NDArray[np.float32], Array("N", "share of the picture that the mask covers")]
    state: Annotated[NDArray[np.int8], Array("N", "visibility; the fact `states` explains the codes")]
    confidence: Annotated[NDArray[np.float32], Array("N", "from 0 to 1")]
    identity: Annotated[
        NDArray[np.float32] | None,
        Array("N", "evidence from 0 to 1 that it is the same object as in the first frame; NaN in frames without a check"),
    ] = None
    shape: Annotated[tuple[int, int, int], Fact("rows, and height and width of a mask")]
    states: Annotated[dict[str, str], Fact("what the codes of `state` mean")] = field(default_factory=lambda: dict(STATES))
    not_known: Annotated[
        dict[str, list[list[int]]], Fact("reason: [first frame, one past the last] of each run of frames with the state -1")
    ] = field(default_factory=dict)

    def problem(self) -> str:
        rows, height, width = self.shape
        expected = (rows, height, -(-width // 8))
        return "" if self.packed.shape == expected else f"masks of the shape {list(self.shape)} do not pack to {self.packed.shape}"

    @property
    def size(self) -> tuple[int, int]:
        """(height, width) of a mask."""
        return self.shape[1:]

    @property
    def in_view(self) -> NDArray[np.bool_]:
        """(N,) where the object is seen."""
        return np.greater(self.state, OUT)

    @property
    def known(self) -> NDArray[np.bool_]:
        """(N,) where it is known whether the object is in view."""
        return np.not_equal(self.state, NOT_KNOWN)

    def mask(self, row: int) -> NDArray[np.bool_]:
        """One row's mask at the working size."""
        return unpack_masks(self.packed[row], self.shape[2])

    def all(self) -> NDArray[np.bool_]:
        """Every row's mask (N,H,W) at the working size."""
        return unpack_masks(self.packed, self.shape[2])

    def resized(self, row: int, size: tuple[int, int]) -> NDArray[np.bool_]:
        """One row's mask at (height, width) `size`."""
        return cv2.resize(self.mask(row).astype(np.uint8), size[::-1], interpolation=cv2.INTER_NEAREST).astype(bool)

    def at(self, frame: int) -> NDArray[np.bool_] | None:
        """The first mask of a frame at the working size; None where the frame has no row."""
        rows = self.rows_at(frame)
        return self.mask(int(rows[0])) if len(rows) else None

    def large_rows(self, height: int, width: int, min_side: int) -> NDArray[np.int64]:
        """Rows with a mask that is at least `min_side` pixels high and wide in a video of this size."""
        scale = np.array([width / self.shape[2], height / self.shape[1]])
        found = []
        for row in range(len(self.packed)):
            around = bounds(self.mask(row))
            if around is not None and (np.array([around[2] - around[0], around[3] - around[1]]) * scale >= min_side).all():
                found.append(row)
        return np.array(found, np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class People(Masks):
    """Masks of people: one row per face, in the order of the faces. A frame may have several rows."""

    role: ClassVar[str] = "people"
    track: Annotated[NDArray[np.int64], Array("N", "number of the person, as in the role `faces`")]
    states: Annotated[dict[str, str], Fact("what the codes of `state` mean")] = field(default_factory=lambda: dict(PEOPLE_STATES))
