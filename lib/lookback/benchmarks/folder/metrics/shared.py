"""What the measures of a plain folder share: their registration, and one look at where the clip sees its first view again."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookback.artifacts import PoseTrack
from lookback.camera.poses import rotation_angle_deg, turned_yaw_deg
from lookback.errors import NotScorable, Reason
from lookback.measures.revisits import Revisit, SamePlace, View, early_views, find_revisit, view_profile
from lookback.registry import metric
from lookback.scoring import Frames, ScoringClip
from lookback.scoring.contract import Request

SAMPLES = 17  # frames of a clip that are compared
FEWEST_FRAMES = 5
TURNED_DEG = 8.0  # a smaller turn is no departure
RETURNED_SHARE = 0.5  # the part of the turn that must be undone
SURE_CORRELATION = 0.7  # a return that only aligned detail shows needs this much; other places reach 0.66 by chance

Looking = Generator[Request | list[Request], Any, Any]


def folder_metric(name: str, **declaration: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a measure of the plain folder. It needs nothing but the video."""
    usual: dict[str, Any] = {"range": (0.0, 1.0), "higher_is_better": True, "roles": (), "pixels": True}
    return metric(name=f"folder.{name}", benchmark="folder", needs=("video",), **(usual | declaration))


@dataclass(frozen=True)
class Path:
    """How far the camera turns from its first view, at the sampled frames."""

    frames: NDArray[np.int64]
    turn: NDArray[np.float64]  # degrees from the first view
    yaw: NDArray[np.float64]  # degrees, right is positive
    lens_known: bool = True  # else the field of view is assumed, and the degrees are rough

    @property
    def farthest(self) -> int:
        return int(self.turn.argmax())

    @property
    def turned(self) -> bool:
        return bool(self.turn.max() >= TURNED_DEG)

    @property
    def way_back(self) -> tuple[int, int]:
        """The places of two frames between which the camera turns back the largest share of its turn, the second one later.

        A camera that comes back and then turns farther away did come back. So every turn counts that goes at least half as far as
        the farthest one.
        """
        nearest = np.minimum.accumulate(self.turn[::-1])[::-1]  # to the first view, from each frame on
        undone = np.where(self.turn >= self.turn.max() / 2, 1.0 - nearest / np.maximum(self.turn, 1e-9), -np.inf)
        away = int(undone.argmax())
        return away, away + int(self.turn[away:].argmin())

    @property
    def undone(self) -> float:
        """The share of its turn that the camera turns back again."""
        away, back = self.way_back
        return 1.0 - float(self.turn[back] / self.turn[away])

    @property
    def returned(self) -> bool:
        return self.turned and self.undone >= RETURNED_SHARE

    def at(self, frame: int) -> float:
        return float(np.interp(frame, self.frames, self.turn))


@dataclass(frozen=True)
class Seen:
    """Where a clip sees its early views again."""

    views: dict[int, View]
    profile: list[SamePlace]  # the first view in every later sampled frame
    revisits: list[Revisit]
    path: Path | None
    lost: frozenset[int] = frozenset()  # compared frames behind a cut to a place that no earlier frame shows

    def is_away(self, frame: int) -> bool:
        """Whether the camera has turned away from the first view in a frame, or a cut has left it."""
        return frame in self.lost or (self.path is not None and self.path.at(frame) >= TURNED_DEG)

    def require_revisits(self) -> list[Revisit]:
        """The revisits, or the typed reason why there is none."""
        if self.revisits:
            return self.revisits
        if self.path is None:
            raise NotScorable(Reason.NO_POSES, "no camera path, and no frame shows an early view again after it was left")
        if not self.path.turned:
            raise NotScorable(Reason.NOT_TRIGGERED, f"a turn of {self.path.turn.max():.0f} degrees does not leave the view")
        if not self.path.returned:
            raise NotScorable(Reason.NO_RETURN, "the camera turns away and does not come back")
        raise NotScorable(Reason.TOO_FEW_MATCHES, "the camera turns back, but no frame shows an early view again")


def sampled_frames(n_frames: int) -> NDArray[np.int64]:
    """The compared frames, evenly spread from the first to the last."""
    if n_frames < FEWEST_FRAMES:
        raise NotScorable(Reason.TOO_SHORT, f"{n_frames} frames, at least {FEWEST_FRAMES} are needed to leave a view and come back")
    return np.unique(np.linspace(0, n_frames - 1, min(SAMPLES, n_frames)).round().astype(np.int64))


def seen_again(context: ScoringClip) -> Looking:
    """The clip's `Seen`, made once for all its measures."""
    frames = sampled_frames(context.need("n_frames"))
    images = yield Frames(frames)
    context.used.add("pose")
    if "folder_seen" not in context.shared:
        context.shared["folder_seen"] = replace(look(frames, images, _path_if_known(context)), lost=_lost(context, frames))
    return context.shared["folder_seen"]


def camera_path(context: ScoringClip) -> Path:
    """The camera's turns at the compared frames; a path that contradicts the motion of the picture is refused."""
    frames = sampled_frames(context.need("n_frames"))
    track = context.artifact(PoseTrack).trusted()
    poses = track.at(frames)
    return Path(frames, rotation_angle_deg(poses[:1], poses), turned_yaw_deg(poses), track.lens_known)


def _path_if_known(context: ScoringClip) -> Path | None:
    try:
        return camera_path(context)
    except NotScorable:
        return None


def _lost(context: ScoringClip, frames: NDArray[np.int64]) -> frozenset[int]:
    try:
        track = context.artifact(PoseTrack)
    except NotScorable:
        return frozenset()
    return frozenset(np.intersect1d(frames, track.frame_index[track.lost]).tolist())


def look(frames: NDArray[np.int64], images: dict[int, NDArray[np.uint8]], path: Path | None) -> Seen:
    """Match the early views with the later ones. Where the path never turns away, the first view alone is followed."""
    views = [View.of(int(frame), images[int(frame)]) for frame in frames]
    profile = view_profile(views, 0)
    revisits: list[Revisit] = []
    if path is None or path.turned:
        found = [profile if early == 0 else view_profile(views, early) for early in early_views(len(views))]
        revisits = [revisit for each in found if (revisit := find_revisit(each)) and _sure(revisit, path)]
    return Seen({view.frame: view for view in views}, profile, revisits, path)


def _sure(revisit: Revisit, path: Path | None) -> bool:
    """Whether the path, too, left this view and came back; without a path, features must have measured the departure."""
    pair = revisit.pair
    if pair.correlation is not None and pair.correlation < SURE_CORRELATION:
        return False
    if path is None:
        return pair.correlation is None and revisit.overlap_away > 0.0
    start, back = path.at(pair.first), path.at(pair.second)
    between = path.turn[(path.frames > pair.first) & (path.frames < pair.second)]
    away = float(np.abs(between - start).max()) if len(between) else 0.0
    return away >= TURNED_DEG and abs(back - start) <= (1.0 - RETURNED_SHARE) * away
