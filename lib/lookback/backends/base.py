"""The interface of the backends of the extraction stage.

A backend is built once per worker, and starts one job per clip. The extraction stage decodes the clip once and pushes the wanted
frames to every job, in order. A backend that `requires` other roles starts after them, because it reads their artifacts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from lookback.artifacts import Artifact
from lookback.clips import Clip
from lookback.media import VideoInfo
from lookback.registry import Availability


@dataclass(frozen=True)
class BackendOptions:
    """The parameters of a run that its backends read."""

    device: str = "cpu"
    batch_size: int = 16
    seed: int = 0
    allow_download: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)  # the options of this role


class Job(Protocol):
    """The work on one clip in one role."""

    wants: np.ndarray | None  # frame indices, or None for every frame; bounded when the backend `requires` roles

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        """Take the next wanted frames, uint8 RGB (n,H,W,3)."""

    def finish(self) -> Artifact:
        """The artifact of the role, or NotScorable with the typed reason."""


class Backend(Protocol):
    """Makes the artifacts of one role."""

    requires: ClassVar[tuple[str, ...]]  # roles whose artifacts `start` needs

    def __init__(self, options: BackendOptions): ...

    @staticmethod
    def available() -> Availability: ...

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> Job: ...
