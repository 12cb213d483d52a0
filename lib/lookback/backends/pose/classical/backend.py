"""The embedded pose estimator as a backend. It sees every frame once and keeps only points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import cv2
import numpy as np

from lookback.artifacts import Artifact, PoseTrack
from lookback.backends.base import BackendOptions
from lookback.backends.pose.classical.evidence import first_view, leave_out_fixed, picture_motion
from lookback.backends.pose.classical.rotation import DEFAULT_FOV_DEG, Pair, estimate_focal, focal_from_fov
from lookback.backends.pose.classical.solve import Path, solve_path
from lookback.backends.pose.classical.tracking import MIN_POINTS, PointTracker
from lookback.backends.pose.classical.views import XFEAT, Describe, best_describer, describe_sift
from lookback.backends.pose.classical.wide import fov_by_motion
from lookback.backends.pose.track import runs, with_facts
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo
from lookback.registry import Availability, backend

LOW_TEXTURE = 25  # with fewer followed points, the pose of a frame is doubtful
FOCAL_PAIRS = 8
FOCAL_TRUST = {"given": 1.0, "estimated": 0.9, "estimated by motion": 0.7, "assumed": 0.5}


@backend(
    role="pose",
    name="classical",
    title="KLT and SIFT tracks, rotation averaging with loop closure; XFeat recognises the first view",
    embedded=True,
    weights=(XFEAT,),
)
class ClassicalPose:
    """Estimates the camera path from the pixels alone."""

    requires: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: BackendOptions):
        self.seed = options.seed
        self.recognised_by, self.recognise = best_describer()

    @staticmethod
    def available() -> Availability:
        return Availability(True)

    @staticmethod
    def made_by() -> str:
        """Which points recognise the first view: without torch, or without the weights, they are others."""
        return best_describer()[0]

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> PoseJob:
        return PoseJob(info, clip.fov_deg, self.seed, self.recognise, self.recognised_by)


class PoseJob:
    """Estimates the camera path of one clip."""

    wants: np.ndarray | None = None

    def __init__(
        self,
        info: VideoInfo,
        fov_deg: float | None,
        seed: int,
        recognise: Describe = describe_sift,
        recognised_by: str = "sift",
    ):
        self.info, self.fov_deg, self.seed, self.recognised_by = info, fov_deg, seed, recognised_by
        self.tracker = PointTracker(info.width, info.height, recognise)

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        for frame in frames:
            self.tracker.push(frame)

    def finish(self) -> PoseTrack:
        track, facts = self.solve()
        return with_facts(track, **facts)

    def solve(self) -> tuple[PoseTrack, dict[str, object]]:
        """The camera path, or NotScorable when the clip is too short or blank."""
        tracker = self.tracker
        tracker.close()
        cv2.setRNGSeed(self.seed)
        n = tracker.n_frames
        if n < 2:
            raise NotScorable(Reason.TOO_SHORT, f"a camera path needs 2 frames, the clip has {n}")
        corners = np.array(tracker.n_corners)
        if np.mean(corners >= MIN_POINTS) < 0.1:
            raise NotScorable(
                Reason.LOW_TEXTURE, f"only {int((corners >= MIN_POINTS).sum())} of {n} frames have {MIN_POINTS} points to follow"
            )
        motion = picture_motion(tracker)
        fixed = leave_out_fixed(tracker, motion)
        width, centre = tracker.size[0], (np.array(tracker.size) - 1) / 2.0
        focal, source = self._focal(width, centre, motion)
        fov = float(np.degrees(2 * np.arctan(width / 2.0 / focal)))
        path = _solved(tracker, focal, centre, fov, source in ("given", "estimated"), self.seed)
        c2w = np.tile(np.eye(4), (n, 1, 1))
        c2w[:, :3, :3], c2w[:, :3, 3] = path.rotation, path.position
        frames = np.arange(n)
        cut = np.isin(frames, tracker.cuts)
        track = PoseTrack(
            c2w=c2w,
            intrinsics=np.tile(self._matrix(focal / tracker.scale), (n, 1, 1)),
            confidence=(path.quality * FOCAL_TRUST[source]).astype(np.float32),
            has_translation=path.has_translation,
            frame_index=frames,
            flags={
                "low_texture": runs(corners < LOW_TEXTURE, frames),
                "cut": runs(cut, frames),
                "no_parallax": runs(~path.has_translation, frames),
            },
            focal_source=f"{source}: {fov:.1f} deg horizontally",
            notes=_notes(source, tracker, fixed, self.recognised_by, path),
            motion=motion,
            first_view=first_view(tracker.sightings, tracker.size, n),
        )
        facts = {"fixed_to_camera": round(float(fixed.mean()), 3), "recognised_by": self.recognised_by}
        return track, {"segments": path.models, "loops": path.n_loops, "fov_deg": round(fov, 3), **facts}

    def _focal(self, width: int, centre: np.ndarray, motion: np.ndarray) -> tuple[float, str]:
        if self.fov_deg is not None:
            return focal_from_fov(self.fov_deg, width), "given"
        estimated = estimate_focal(self._pairs(), width, centre, self.seed)
        if estimated is not None:
            return estimated, "estimated"
        fov = fov_by_motion(motion, self.tracker.size[1] / width)
        return focal_from_fov(fov or DEFAULT_FOV_DEG, width), "estimated by motion" if fov else "assumed"

    def _pairs(self) -> list[Pair]:
        """Point pairs of the keyframe and the last frame, for the segments that moved most."""
        found: list[tuple[float, Pair]] = []
        for segment in self.tracker.segments:
            for positions in reversed(segment.positions):
                valid = np.isfinite(positions[:, 0])
                if valid.sum() >= LOW_TEXTURE:
                    first, second = segment.points[valid], positions[valid]
                    found.append((float(np.median(np.linalg.norm(second - first, axis=1))), (first, second)))
                    break
        found.sort(key=lambda item: -item[0])
        return [pair for shift, pair in found[:FOCAL_PAIRS] if shift > 0.05 * self.tracker.size[0]]

    def _matrix(self, focal: float) -> np.ndarray:
        centre_x, centre_y = (self.info.width - 1) / 2.0, (self.info.height - 1) / 2.0
        return np.array([[focal, 0.0, centre_x], [0.0, focal, centre_y], [0.0, 0.0, 1.0]])


def _solved(tracker: PointTracker, focal: float, centre: np.ndarray, fov: float, focal_known: bool, seed: int) -> Path:
    """The path; NotScorable where the tracks determine none, as with points on a line or with noise."""
    try:
        path = solve_path(tracker, focal, centre, fov, focal_known, seed)
    except (np.linalg.LinAlgError, cv2.error) as error:
        raise NotScorable(Reason.UNDEFINED, f"the tracked points determine no camera path ({error})") from None
    if not (np.isfinite(path.rotation).all() and np.isfinite(path.position).all()):
        raise NotScorable(Reason.UNDEFINED, "the tracked points determine no camera path (it is not finite)")
    return path


def _notes(source: str, tracker: PointTracker, fixed: np.ndarray, recognised_by: str, path: Path) -> tuple[str, ...]:
    notes = ["positions are up to one unknown scale and only where has_translation is set"]
    if path.has_translation.any():
        notes.append("an object that fills a quarter of the picture looks like a moving camera")
    if path.models["zoom"]:
        notes.append(
            "the picture grows or shrinks evenly: a zoom or a move toward something flat; these look alike, so no positions"
        )
    if source == "assumed":
        notes.append("the field of view is assumed, so angles may be off by the same factor throughout")
    if fixed.any():
        notes.append(
            f"{100 * fixed.mean():.0f} % of the picture stay in place while the rest turns: left out as fixed to the camera"
        )
    if recognised_by != XFEAT:
        notes.append("torch or XFeat's weights are not at hand, so SIFT recognised the first view (python -m lookback.weights)")
    if tracker.cuts:
        notes.append(f"{len(tracker.cuts)} cut(s): the orientation after a cut is only known where an earlier view was recognised")
    return tuple(notes)
