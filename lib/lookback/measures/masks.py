"""Masks of the `masks` artifact, brought to a frame's size."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.errors import NotScorable, Reason
from lookback.store import Entry


def frame_mask(entry: Entry, frame: int, size: tuple[int, int]) -> NDArray[np.bool_]:
    """The object's mask (height, width) in one frame; NO_MASK when it is out of view there."""
    rows = np.flatnonzero(entry.arrays["frame_index"] == frame)
    if not len(rows):
        raise NotScorable(Reason.NO_MASK, f"frame {frame} has no mask row")
    _, height, width = entry.record["shape"]
    mask = np.unpackbits(entry.arrays["masks"][rows[0]], axis=-1)[..., :width].reshape(height, width)
    if not mask.any():
        raise NotScorable(Reason.NO_MASK, f"the object is not in view in frame {frame}")
    return cv2.resize(mask, (size[1], size[0]), interpolation=cv2.INTER_NEAREST).astype(bool)
