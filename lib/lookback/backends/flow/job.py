"""The role `flow`: how much each frame moves to the next; the flow fields themselves are made again where a metric needs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import cv2
import numpy as np

from lookback.artifacts import Artifact, Flow
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo


class FlowBackend(Protocol):
    """`flow(a, b)` is (H,W,2): pixel (x, y) of a is found at (x + u, y + v) of b."""

    def flow(self, a: np.ndarray, b: np.ndarray) -> np.ndarray: ...


class FlowRole:
    """`start` for every flow backend."""

    requires: ClassVar[tuple[str, ...]] = ()
    set: dict[str, Any]

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> FlowJob:
        return FlowJob(self, self.set["max_side"])  # type: ignore[arg-type]


class FlowJob:
    """Every frame, streamed: only the last one is kept."""

    wants = None

    def __init__(self, backend: FlowBackend, max_side: int):
        self.backend, self.max_side = backend, max_side
        self.last: np.ndarray | None = None
        self.magnitude: list[float] = []
        self.indices: list[int] = []
        self.scale = 1.0

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        for index, frame in zip(indices, frames, strict=True):
            small = self._small(frame)
            if self.last is not None:
                flow = self.backend.flow(self.last, small)
                self.magnitude.append(float(np.linalg.norm(flow, axis=-1).mean()) / self.scale)
                self.indices.append(int(index) - 1)
            self.last = small

    def finish(self) -> Flow:
        if not self.magnitude:
            raise NotScorable(Reason.TOO_SHORT, "one frame has no motion")
        facts: dict[str, Any] = {"unit": "mean pixels per frame at the video's resolution", "max_side": self.max_side}
        facts["mean_magnitude"] = round(float(np.mean(self.magnitude)), 4)
        return Flow(frame_index=np.array(self.indices), magnitude=np.array(self.magnitude, np.float32), facts=facts)

    def _small(self, frame: np.ndarray) -> np.ndarray:
        self.scale = min(1.0, self.max_side / max(frame.shape[:2]))
        if self.scale == 1.0:
            return frame.copy()
        size = (round(frame.shape[1] * self.scale), round(frame.shape[0] * self.scale))
        return cv2.resize(frame, size, interpolation=cv2.INTER_AREA)
