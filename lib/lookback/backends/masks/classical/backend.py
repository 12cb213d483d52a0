"""The backend `classical` of the role `masks`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import cv2
import numpy as np

from lookback.artifacts import Artifact, Masks
from lookback.backends.base import BackendOptions
from lookback.backends.masks.artifact import MaskRows
from lookback.backends.masks.classical.tracker import ObjectTracker
from lookback.backends.masks.prompt import anchor_box
from lookback.backends.runtime import settings
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo
from lookback.registry import Availability, backend

OPTIONS: dict[str, Any] = {}
METHOD = "GrabCut from the prompt, dense inverse search on a homography, re-detection by place and SIFT"


@backend(
    role="masks",
    name="classical",
    title="GrabCut, flow propagation and feature re-detection (in place of SAM 2)",
    embedded=True,
)
class ClassicalMasks:
    """Works at a bounded resolution on one core; the prompt is the clip's object anchor."""

    requires: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: BackendOptions):
        self.seed = options.seed
        self.set = settings(options, OPTIONS)

    @staticmethod
    def available() -> Availability:
        return Availability(True)

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _ClassicalJob:
        box = anchor_box(clip, info)
        if box is None:
            raise NotScorable(Reason.MISSING_INPUT, "the clip has no object_anchor that says which object to follow")
        return _ClassicalJob(info, box, self.seed)


class _ClassicalJob:
    wants: np.ndarray | None = None

    def __init__(self, info: VideoInfo, box: np.ndarray, seed: int):
        self.rows = MaskRows(info)
        self.tracker = ObjectTracker(self.rows, box / self.rows.scale, seed)

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        height, width = self.rows.size
        for index, frame in zip(indices, frames, strict=True):
            self.tracker.push(int(index), cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA))

    def finish(self) -> Masks:
        notes = {"lost": self.tracker.n_lost, "found_again": self.tracker.n_found, "frames_without_motion": self.tracker.blind}
        return self.rows.finish({"prompt": "object anchor", "method": METHOD, **notes})
