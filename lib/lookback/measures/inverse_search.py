"""Optical flow by dense inverse search (Kroeger et al. 2016) in OpenCV."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Array

MIN_SIDE = 16  # below it OpenCV ends in an error, gives values that are no numbers, or crashes the process
FAST_MIN_HEIGHT = 32  # the same of the fast preset, whose finest scale is twice as coarse; of wide pictures only


class InverseSearch:
    """One of OpenCV's presets, which no picture changes for those that follow."""

    def __init__(self, preset: int = cv2.DISOPTICAL_FLOW_PRESET_MEDIUM) -> None:
        self.preset = preset
        self._start()

    def _start(self) -> None:
        self.search = cv2.DISOpticalFlow.create(self.preset)
        self.finest = self.search.getFinestScale()

    def flow(self, a: Array, b: Array) -> NDArray[np.float32]:
        """Flow (H,W,2) from a to b, both uint8 (H,W,3)."""
        height, width = a.shape[:2]
        if min(height, width) < MIN_SIDE:
            raise NotScorable(Reason.INVALID_INPUT, f"optical flow needs {MIN_SIDE} pixels on each side, not {width}x{height}")
        return self.of_greys(cv2.cvtColor(a, cv2.COLOR_RGB2GRAY), cv2.cvtColor(b, cv2.COLOR_RGB2GRAY))

    def of_greys(self, a: Array, b: Array) -> NDArray[np.float32]:
        """Flow (H,W,2) from a to b, both uint8 (H,W) and large enough for the preset."""
        found = self.search.calc(a, b, None)  # type: ignore[call-overload]
        if self.search.getFinestScale() != self.finest:  # a small picture has changed the settings
            self._start()
        return np.asarray(found, np.float32)
