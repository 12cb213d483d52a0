"""What every backend of the extraction stage has in common.

A backend is built once per worker; for each clip it starts a job. The driver decodes the clip once and pushes every frame a job
wants to it, in order; a job that `requires` other roles is fed after those have finished, from the few frames it asked for.
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
    """How a run wants its backends."""

    device: str = "cpu"
    batch_size: int = 16
    seed: int = 0
    allow_download: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)  # this role's own options


class Job(Protocol):
    """One clip's work in one role."""

    wants: np.ndarray | None  # frame indices, or None for every frame; bounded when the backend `requires` roles

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        """Take the next wanted frames, uint8 RGB (n,H,W,3)."""

    def finish(self) -> Artifact:
        """The role's artifact, or NotScorable with the typed reason."""


class Backend(Protocol):
    """A producer of one role's artifacts."""

    requires: ClassVar[tuple[str, ...]]  # roles whose artifacts `start` needs

    def __init__(self, options: BackendOptions): ...

    @staticmethod
    def available() -> Availability: ...

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> Job: ...
