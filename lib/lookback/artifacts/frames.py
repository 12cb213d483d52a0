"""The roles with a plain value or map per frame: `depth`, `flow`, `perceptual`, `quality`, `image_reward`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from lookback.artifacts.base import Array, Fact, FrameRows

Measure = Literal["sharpness", "musiq", "clipiqa"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Depth(FrameRows):
    """One depth map per row."""

    role: ClassVar[str] = "depth"
    depth: Annotated[NDArray[np.floating], Array("N H W", "depth maps at a working size; `metric` says what the numbers are")]
    metric: Annotated[bool, Fact("true: distance along the camera's axis (z); false: relative inverse depth, near is large")] = (
        False
    )
    kind: Annotated[str, Fact("what the numbers are, in words")] = ""
    notes: Annotated[tuple[str, ...], Fact("remarks for the reader")] = ()

    def at(self, frame: int) -> NDArray[np.floating] | None:
        """The map of exactly this frame; None when it was not sampled."""
        rows = self.rows_at(frame)
        return self.depth[rows[0]] if len(rows) else None


@dataclass(frozen=True, kw_only=True, eq=False)
class Flow(FrameRows):
    """How far each frame moves to the next. The last frame has no row."""

    role: ClassVar[str] = "flow"
    magnitude: Annotated[NDArray[np.float32], Array("N", "mean length of the flow to the next frame, in pixels of the video")]


@dataclass(frozen=True, kw_only=True, eq=False)
class Style(FrameRows):
    """The change of style from each sampled frame to the next, as the distance of Gram matrices."""

    role: ClassVar[str] = "perceptual"
    distance: Annotated[
        NDArray[np.float64], Array("T", "from sampled frame t to t+1 in the chosen layer; T = N - 1", name="style_distance")
    ]
    distances: Annotated[NDArray[np.float64], Array("T L", "the same in each layer", name="style_distances")]
    network: Annotated[str, Fact("the network that gives the features for the Gram matrices")]
    layers: Annotated[tuple[str, ...], Fact("the L layers")]
    style_layer: Annotated[str, Fact("the chosen layer")]

    def problem(self) -> str:
        if len(self.distance) != len(self.frame_index) - 1:
            return f"it has {len(self.distance)} distances between {len(self.frame_index)} frames"
        return "" if len(self.layers) == self.distances.shape[1] else "it does not have one column per layer"


@dataclass(frozen=True, kw_only=True, eq=False)
class Quality(FrameRows):
    """Quality of single frames without a reference. A backend gives some of the measures, each under its own name."""

    role: ClassVar[str] = "quality"
    sharpness: Annotated[NDArray[np.float32] | None, Array("N", "variance of the Laplacian")] = None
    musiq: Annotated[NDArray[np.float32] | None, Array("N", "MUSIQ-SPAQ, about 0 to 100")] = None
    clipiqa: Annotated[NDArray[np.float32] | None, Array("N", "CLIP-IQA+, 0 to 1")] = None

    def problem(self) -> str:
        return "it has no measure" if all(getattr(self, name) is None for name in get_args(Measure)) else ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Rewards(FrameRows):
    """ImageReward of sampled frames for the clip's prompt."""

    role: ClassVar[str] = "image_reward"
    image_reward: Annotated[NDArray[np.float32], Array("N", "raw reward, about -2 to 2")]
