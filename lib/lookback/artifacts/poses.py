"""The roles `pose` and `gt_pose`: the camera path of the generated video and of the ground truth."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lookback.artifacts.base import Array, Fact, FrameRows
from lookback.camera.poses import Poses, relative_to_first
from lookback.camera.resample import poses_at
from lookback.errors import NotScorable, Reason
from lookback.measures.camera_activity import CameraActivity, camera_activity

Frames = NDArray[np.int64] | NDArray[np.float64]  # frame numbers, whole or between two frames
MAPPED = "read as frames"  # part of a note, when there are fewer poses than frames in the video
LOST_SHARE = 0.1  # of the frames; a path that knows nothing about more of them is not trusted


@dataclass(frozen=True, kw_only=True, eq=False)
class PoseTrack(FrameRows):
    """Poses of some or all frames of a clip."""

    role: ClassVar[str] = "pose"
    c2w: Annotated[
        NDArray[np.float64],
        Array("N 4 4", "camera-to-world, OpenCV axes (x right, y down, z forward); lengths in the estimator's own unit"),
    ]
    intrinsics: Annotated[NDArray[np.float64], Array("N 3 3", "camera matrix in pixels of the video")]
    confidence: Annotated[NDArray[np.float32], Array("N", "from 0 to 1")]
    has_translation: Annotated[NDArray[np.bool_], Array("N", "the position was observed, not only the orientation")]
    motion: Annotated[
        NDArray[np.float32] | None,
        Array(
            "N H W 2",
            "motion of each of H x W cells of the picture since the frame before, in widths of it; NaN: unknown",
        ),
    ] = None
    first_view: Annotated[
        NDArray[np.float32] | None,
        Array("N", "share of the first picture that matching finds again in the frame; NaN where it was not compared"),
    ] = None
    flags: Annotated[dict[str, list[list[int]]], Fact("name: [first frame, one past the last] of each run of doubtful frames")] = (
        field(default_factory=dict)
    )
    focal_source: Annotated[str, Fact("where the focal length comes from")] = ""
    notes: Annotated[tuple[str, ...], Fact("remarks for the reader")] = ()

    def at(self, frames: Frames) -> Poses:
        """Poses at these frames: interpolated between the rows, and constant before the first and after the last row."""
        return poses_at(self.c2w, self._places(frames))

    def per_frame(self, n_frames: int) -> Self:
        """A path with one pose per frame. Frames without a pose are interpolated; the evidence of the picture is left out."""
        frames = np.arange(n_frames)
        if np.array_equal(self.frame_index, frames):
            return self
        nearest = self._places(frames).round().astype(int)
        return replace(
            self,
            frame_index=frames,
            c2w=self.at(frames),
            intrinsics=self.intrinsics[nearest],
            confidence=self.confidence[nearest],
            has_translation=self.has_translation[nearest],
            motion=None,
            first_view=None,
        )

    def positions(self) -> NDArray[np.float64]:
        """(N,3) positions relative to the first frame; NaN where none was observed."""
        return np.where(self.has_translation[:, None], relative_to_first(self.c2w)[:, :3, 3], np.nan)

    def without_positions(self) -> Self:
        """The same orientations without positions."""
        return replace(self, has_translation=np.zeros_like(self.has_translation))

    @property
    def moves(self) -> bool:
        """Whether a position was observed in any frame."""
        return bool(self.has_translation.any())

    def activity(self) -> CameraActivity:
        """Whether the camera moves, how far it turns, whether it comes back, and whether the path can be trusted."""
        seen = camera_activity(
            self.c2w, self.intrinsics, self.frame_index, self.has_translation, self.motion, self.first_view, self._lost_view()
        )
        return replace(seen, lens_known=self.lens_known)

    @property
    def lost(self) -> NDArray[np.bool_]:
        """(N,) the frames behind a cut in which no earlier view is recognised: where the camera looks there is not known."""
        cut = min((first for first, _ in self.flags.get("cut", [])), default=None)
        return np.zeros(len(self.frame_index), bool) if cut is None else (self.frame_index >= cut) & (self.confidence <= 0)

    def _lost_view(self) -> str:
        lost = self.lost
        if lost.mean() <= LOST_SHARE:
            return ""
        first, count = int(self.frame_index[lost][0]), int(lost.sum())
        return f"after the cut at frame {first} {count} of {len(lost)} frames show no view that is known from before"

    @property
    def lens_known(self) -> bool:
        """Whether the field of view is known. Where it is assumed, all angles may be off by one factor, up to about two."""
        return not self.focal_source.startswith("assumed")

    def trusted(self) -> Self:
        """The path itself; NotScorable where it contradicts the motion of the picture."""
        if doubt := self.doubt:
            raise NotScorable(Reason.UNTRUSTED_PATH, doubt)
        return self

    @property
    def doubt(self) -> str:
        """Why the path is not to be trusted; empty for one that agrees with the motion of the picture."""
        activity = self.activity()
        return "" if activity.trusted else activity.why

    def _places(self, frames: Frames) -> NDArray[np.float64]:
        """The row numbers of these frames, as fractions between rows."""
        return np.interp(frames, self.frame_index, np.arange(len(self.frame_index)))


@dataclass(frozen=True, kw_only=True, eq=False)
class TruePoseTrack(PoseTrack):
    """Poses of the ground truth's video; `frame_index` counts its frames."""

    role: ClassVar[str] = "gt_pose"
