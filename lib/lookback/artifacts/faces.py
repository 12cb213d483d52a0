"""The role `faces`: faces of sampled frames, joined to tracks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from lookback.artifacts.base import Array, Artifact, Fact


@dataclass(frozen=True, kw_only=True, eq=False)
class FaceTracks(Artifact):
    """One row per face, in the order of the video."""

    role: ClassVar[str] = "faces"
    frame: Annotated[NDArray[np.int64], Array("K", "the video frame (counted from 0) of each face")]
    box: Annotated[NDArray[np.float32], Array("K 4", "x0 y0 x1 y1 in pixels of the video")]
    landmarks: Annotated[NDArray[np.float32], Array("K 5 2", "x y of the eyes, the nose and the corners of the mouth, in pixels")]
    score: Annotated[NDArray[np.float32], Array("K", "the detector's confidence")]
    embedding: Annotated[NDArray[np.float32], Array("K D", "the identity vector; vectors compare by their cosine")]
    track: Annotated[NDArray[np.int64], Array("K", "number of the person")]
    sampled_frames: Annotated[tuple[int, ...], Fact("every frame that was looked at, with a face or without")] = ()

    def near(self, frame: int) -> tuple[int, NDArray[np.intp]] | None:
        """The sampled frame nearest to this one and the rows of its faces; None where no frame has a face."""
        sampled = np.array(self.sampled_frames or self.frame, dtype=int)
        if not len(self.frame) or not len(sampled):
            return None
        nearest = int(sampled[np.abs(sampled - frame).argmin()])
        return nearest, np.flatnonzero(self.frame == nearest)
