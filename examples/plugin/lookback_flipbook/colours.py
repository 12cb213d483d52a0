"""The artifact of the role `page_colours`, and how far two pages are apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from lookback.artifacts import FrameRows
from lookback.artifacts.base import Array
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, eq=False)
class PageColours(FrameRows):
    """The mean colour of each cell of a grid, frame by frame."""

    role: ClassVar[str] = "page_colours"
    colours: Annotated[NDArray[np.float32], Array("N G G 3", "mean red, green and blue of each cell, 0 to 255")]

    def distance_to_first(self) -> NDArray[np.float64]:
        """How far each frame is from the first one, 0 to 1."""
        return np.array([page_distance(page, self.colours[0]) for page in self.colours])


def page_distance(page: NDArray[np.generic], other: NDArray[np.generic]) -> float:
    """Mean |page - other| / 255 over cells (or pixels) and colours: 0 is the same picture, 1 is black against white."""
    return float(np.abs(page.astype(np.float64) - other.astype(np.float64)).mean() / 255)
