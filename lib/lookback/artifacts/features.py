"""The roles `features`, `object_features`, `person_features` and `clip`: what image and text encoders say of frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from lookback.artifacts.base import Array, Artifact, FrameRows


@dataclass(frozen=True, kw_only=True, eq=False)
class Features(FrameRows):
    """One vector per sampled frame, and one per patch of it."""

    role: ClassVar[str] = "features"
    cls: Annotated[NDArray[np.float32], Array("N D", "the frame's vector")]
    patches: Annotated[NDArray[np.float16], Array("N P D", "the patches' vectors, row by row of the grid")]
    valid: Annotated[NDArray[np.bool_], Array("N P", "False where a patch is padding only; the same for all frames")]
    grid: Annotated[NDArray[np.int64], Array("2", "rows and columns of patches, P = rows * columns")]

    def picture_patches(self) -> NDArray[np.float16]:
        """The patches that show something of the picture: (N, valid patches, D)."""
        return self.patches[:, self.valid[0]]

    def problem(self) -> str:
        return "" if int(self.grid.prod()) == self.patches.shape[1] else "its grid and its patches are not equally many"


@dataclass(frozen=True, kw_only=True, eq=False)
class ObjectFeatures(Artifact):
    """The encoder's vector of the masked object in some of the frames where it is seen."""

    role: ClassVar[str] = "object_features"
    frame: Annotated[NDArray[np.int64], Array("K", "the video frame (counted from 0) of each crop", name="object_frame")]
    vector: Annotated[NDArray[np.float32], Array("K D", "the crop's vector", name="object")]


@dataclass(frozen=True, kw_only=True, eq=False)
class PersonFeatures(Artifact):
    """The encoder's vector of every masked person."""

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
