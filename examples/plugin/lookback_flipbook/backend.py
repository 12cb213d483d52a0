"""The backend `page_colours=grid`: it reads every frame once and keeps a few numbers of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import cv2
import numpy as np
from lookback.artifacts import Artifact
from lookback.backends.runtime import ConfiguredBackend
from lookback.clips import Clip
from lookback.media import VideoInfo
from lookback.registry import backend
from numpy.typing import NDArray

from lookback_flipbook.colours import PageColours


class GridJob:
    """One clip's work: the driver pushes its frames in order."""

    wants = None  # every frame

    def __init__(self, cells: int):
        self.cells = cells
        self.indices: list[int] = []
        self.colours: list[NDArray[np.float32]] = []

    def push(self, indices: NDArray[np.int64], frames: NDArray[np.uint8]) -> None:
        self.indices += [int(index) for index in indices]
        size = (self.cells, self.cells)
        self.colours += [cv2.resize(frame.astype(np.float32), size, interpolation=cv2.INTER_AREA) for frame in frames]

    def finish(self) -> PageColours:
        return PageColours(frame_index=np.array(self.indices, np.int64), colours=np.stack(self.colours))


@backend(role="page_colours", name="grid", title="mean colour of each cell of a grid", embedded=True)
class Grid(ConfiguredBackend):
    """Averages the pixels of each cell; needs no weights."""

    defaults: ClassVar = {"cells": 4}  # along each side of the grid

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> GridJob:
        return GridJob(self.settings["cells"])
