"""The roles `faces`, `features`, `object_features`, `person_features` and `clip`: vectors of faces, frames, crops and texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from lookback.artifacts.base import Array, Artifact, Fact, FrameRows


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
    sampled_frames: Annotated[tuple[int, ...], Fact("all frames that were searched, with or without a face")] = ()

    def near(self, frame: int) -> tuple[int, NDArray[np.intp]] | None:
        """The sampled frame nearest to this one and the rows of its faces; None when no frame has a face."""
        sampled = np.array(self.sampled_frames or self.frame, dtype=int)
        if not len(self.frame) or not len(sampled):
            return None
        nearest = int(sampled[np.abs(sampled - frame).argmin()])
        return nearest, np.flatnonzero(self.frame == nearest)


@dataclass(frozen=True, kw_only=True, eq=False)
class Features(FrameRows):
    """One vector per sampled frame, and one per patch of it."""

    role: ClassVar[str] = "features"
    cls: Annotated[NDArray[np.float32], Array("N D", "the frame's vector")]
    patches: Annotated[NDArray[np.float16], Array("N P D", "the patches' vectors, row by row of the grid")]
    valid: Annotated[NDArray[np.bool_], Array("N P", "False where a patch is padding only; the same for all frames")]
    grid: Annotated[NDArray[np.int64], Array("2", "rows and columns of patches, P = rows * columns")]

    def picture_patches(self) -> NDArray[np.float16]:
        """The patches that show a part of the picture: (N, valid patches, D)."""
        return self.patches[:, self.valid[0]]

    def problem(self) -> str:
        return "" if int(self.grid.prod()) == self.patches.shape[1] else "its grid does not have as many cells as there are patches"


@dataclass(frozen=True, kw_only=True, eq=False)
class ObjectFeatures(Artifact):
    """One vector of the masked object for each of some frames where it is seen."""

    role: ClassVar[str] = "object_features"
    frame: Annotated[NDArray[np.int64], Array("K", "the video frame (counted from 0) of each crop", name="object_frame")]
    vector: Annotated[NDArray[np.float32], Array("K D", "the crop's vector", name="object")]


@dataclass(frozen=True, kw_only=True, eq=False)
class PersonFeatures(Artifact):
    """One vector for every masked person."""

    role: ClassVar[str] = "person_features"
    frame: Annotated[NDArray[np.int64], Array("K", "the video frame (counted from 0) of each crop", name="person_frame")]
    vector: Annotated[NDArray[np.float32], Array("K D", "the crop's vector", name="person")]
    track: Annotated[NDArray[np.int64], Array("K", "number of the person", name="person_track")]


@dataclass(frozen=True, kw_only=True, eq=False)
class TextImageFeatures(FrameRows):
    """Vectors of frames and of the texts that describe them, in one space (OpenCLIP)."""

    role: ClassVar[str] = "clip"
    image: Annotated[NDArray[np.float32], Array("N D", "the frame's vector, of length 1")]
    segment: Annotated[NDArray[np.int64], Array("N", "number of the caption segment that each frame was sampled from")]
    text: Annotated[NDArray[np.float32], Array("M D", "the caption's vector, of length 1; one row per segment")]
