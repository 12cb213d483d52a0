"""Poses that another estimator left beside the clip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from lookback.artifacts import Artifact, PoseTrack
from lookback.backends.base import BackendOptions
from lookback.backends.pose.formats import read_poses
from lookback.backends.pose.track import with_facts
from lookback.clips import Clip
from lookback.errors import ContractError, NotScorable, Reason
from lookback.media import VideoInfo
from lookback.paths import resolve
from lookback.registry import Availability, backend


@backend(
    role="pose",
    name="files",
    title="Poses read from the files of DA3, MapAnything, ViPE, COLMAP, VGGT, TUM or KITTI",
    embedded=False,
)
class PoseFiles:
    """Reads `clip.poses`; needs no frame."""

    requires: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: BackendOptions):
        pass

    @staticmethod
    def available() -> Availability:
        return Availability(True)

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _Reading:
        return _Reading(clip, info)


class _Reading:
    """The job of one clip."""

    wants = np.empty(0, np.int64)

    def __init__(self, clip: Clip, info: VideoInfo):
        self.clip, self.info = clip, info

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        """Nothing to see: the poses are in a file."""

    def finish(self) -> PoseTrack:
        if self.clip.poses is None or self.clip.poses_format is None:
            raise NotScorable(Reason.NO_POSES, "the dataset carries no pose file for this clip")
        try:
            track = read_poses(resolve(self.clip.poses), self.clip.poses_format, self.info)
        except ContractError as error:
            raise NotScorable(Reason.INVALID_INPUT, str(error)) from None
        return with_facts(track, format=self.clip.poses_format)
