"""The embedded flow: dense inverse search (Kroeger et al. 2016) in OpenCV."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from lookback.backends.base import BackendOptions
from lookback.backends.flow.job import FlowRole
from lookback.backends.runtime import settings
from lookback.registry import Availability, backend

OPTIONS: dict[str, Any] = {"max_side": 512}


@backend(role="flow", name="dis", title="OpenCV dense inverse search (in place of RAFT)", embedded=True)
class DisFlow(FlowRole):
    """The medium preset."""

    def __init__(self, options: BackendOptions):
        self.set = settings(options, OPTIONS)
        self.dis = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)

    @staticmethod
    def available() -> Availability:
        return Availability(True)

    def flow(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Flow (H,W,2) float32 from a to b, both uint8 (H,W,3)."""
        return self.dis.calc(cv2.cvtColor(a, cv2.COLOR_RGB2GRAY), cv2.cvtColor(b, cv2.COLOR_RGB2GRAY), None)  # type: ignore[call-overload]
