"""What a rule reads (the evidence of one clip, as plain arrays) and what it returns (a finding)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lookback.artifacts import Masks, PoseTrack, TruePoseTrack
from lookback.camera.intent import compile
from lookback.camera.poses import Poses, pitch_deg, rotation_angle_deg, turned_yaw_deg
from lookback.camera.resample import poses_at
from lookback.camera.text import parse_captions
from lookback.clips import Clip
from lookback.errors import LookbackError
from lookback.measures.requested import asked_path

JUMP_DEG = 8.0  # a smaller turn between neighbouring frames is normal motion
JUMP_RATIO = 4.0  # a jump is this many times the fourth largest turn
LEVEL_DEG = 60.0  # the yaw is unreliable if the camera looks further up or down
EVENTS = ("spatial", "state", "full")


@dataclass(frozen=True)
class Path:
    """A camera path and its rotation over time."""

    frames: np.ndarray
    c2w: Poses

    @cached_property
    def yaw(self) -> np.ndarray:
        """Yaw relative to the first frame in degrees; it keeps counting beyond 180."""
        return turned_yaw_deg(self.c2w)

    @cached_property
    def away(self) -> np.ndarray:
        """Angle to the first orientation in degrees."""
        return rotation_angle_deg(self.c2w[0], self.c2w)

    @property
    def farthest(self) -> float:
        """The largest turn away from the first frame. An angle is at most 180 degrees, so a level camera's yaw counts too."""
        level = bool((np.abs(pitch_deg(self.c2w)) < LEVEL_DEG).all())
        return max(float(self.away.max()), float(np.abs(self.yaw).max()) if level else 0.0)

    def jump(self) -> int | None:
        """The first frame after a jump of the camera: one turn is far larger than all others. None without a jump."""
        steps = rotation_angle_deg(self.c2w[:-1], self.c2w[1:])
        if len(steps) < 8:
            return None
        largest = int(steps.argmax())
        usual = float(np.sort(steps)[-4])
        return int(self.frames[largest + 1]) if steps[largest] > max(JUMP_DEG, JUMP_RATIO * usual) else None


@dataclass(frozen=True)
class Evidence:
    """The evidence of one clip; None or empty where nothing was extracted."""

    clip: Clip
    path: Path | None = None
    requested: Path | None = None  # the requested path, or the path of the ground truth's camera
    frames: np.ndarray | None = None  # the frame of every mask row
    state: np.ndarray | None = None  # 0 out, 1 in view, 2 leaving, 3 returned
    boxes: np.ndarray | None = None  # (N,4) of the subject, NaN when out
    intrinsics: np.ndarray | None = None
    turns_only: bool = False  # the camera turns but does not move
    doubt: str = ""  # why the path is not to be trusted
    shots: Sequence[int] = ()  # first frame of every shot
    pairs: Sequence[Mapping[str, Any]] = field(default_factory=tuple)  # the measures, one record per frame pair
    answers: Mapping[str, float] = field(default_factory=dict)  # answers of real judges by question, never simulated ones
    curves: Mapping[str, np.ndarray] = field(default_factory=dict)  # what the clip shows over time, by name

    @property
    def returns(self) -> list[Mapping[str, Any]]:
        return [record for record in self.pairs if not record["departure"]]

    @property
    def departure(self) -> Mapping[str, Any] | None:
        return next((record for record in self.pairs if record["departure"]), None)

    def typical(self, name: str) -> float:
        """Median of a measure over the return pairs; NaN if no pair has it."""
        values = [float(record[name]) for record in self.returns if name in record]
        return float(np.median(values)) if values else float("nan")

    def light(self) -> float:
        """Median over the pairs of the brightness ratio (mean over the channels)."""
        gains = [float(np.mean(record["gain"])) for record in self.returns if "gain" in record]
        return float(np.median(gains)) if gains else float("nan")

    def span(self) -> tuple[int, int]:
        """First and last of the late frames that were compared."""
        frames = [int(record["frame"]) for record in self.returns]
        return min(frames), max(frames)

    @cached_property
    def deviation(self) -> np.ndarray | None:
        """Angle in degrees between the actual and the requested orientation of every frame, each relative to its first."""
        if self.path is None or self.requested is None:
            return None
        made, wanted = self.path.c2w, self.requested.c2w
        target = poses_at(wanted, np.linspace(0, len(wanted) - 1, len(made)))
        a, b = (poses[0, :3, :3].T @ poses[:, :3, :3] for poses in (made, target))
        return rotation_angle_deg(a, b)

    @property
    def event_asked(self) -> bool:
        """The task asks for an event: WRBench's level, MBench's causal subset, or a ground truth that changes."""
        return self.clip.event_level in EVENTS or self.clip.subset == "causal" or self.typical("event_share") >= 0.004


def gather(
    clip: Clip,
    pose: PoseTrack | None,
    masks: Masks | None,
    truth_pose: TruePoseTrack | None,
    shots: Sequence[int] = (),
    pairs: Sequence[Mapping[str, Any]] = (),
    answers: Mapping[str, float] | None = None,
) -> Evidence:
    """The evidence of one clip from its artifacts."""
    path = None if pose is None else Path(pose.frame_index, pose.c2w)
    return Evidence(
        clip,
        path,
        path_to_compare(clip, truth_pose),
        None if masks is None else masks.frame_index,
        None if masks is None else masks.state.astype(int),
        None if masks is None else masks.boxes,
        None if pose is None else pose.intrinsics[0],
        pose is not None and _turns_only(pose) and (truth_pose is None or _turns_only(truth_pose)),
        "" if pose is None else pose.doubt,
        shots,
        pairs,
        answers or {},
    )


def _turns_only(pose: PoseTrack) -> bool:
    """True if no parallax was found or the position never changes."""
    return not pose.moves or float(np.ptp(pose.c2w[:, :3, 3], axis=0).max()) < 1e-3


def path_to_compare(clip: Clip, truth_pose: TruePoseTrack | None) -> Path | None:
    """The path of the ground truth's camera; without one, the path that the request or the captions describe."""
    if truth_pose is not None:
        first = clip.mark_time or 0
        wanted = truth_pose.frame_index
        if clip.mark_time is not None and clip.n_frames:
            wanted = np.arange(first, first + clip.n_frames)
        return Path(wanted - first, truth_pose.at(wanted))
    poses = asked_path(clip)
    if poses is None and clip.caption_segments and clip.n_frames:
        try:
            poses = compile(parse_captions(clip.caption_segments, clip.n_frames))
        except LookbackError:
            return None
    if poses is None:
        return None
    return Path(np.arange(len(poses)), poses)


@dataclass(frozen=True)
class Finding:
    """A failure that was found: how sure the rule is, in which frames, and why."""

    label: str
    confidence: float
    frame_start: int
    frame_end: int
    evidence: str


@dataclass(frozen=True)
class Rule:
    """The rule for one failure, in words (`when`) and in code (`find`)."""

    label: str
    title: str  # the name that the papers use
    when: str
    find: Callable[[Evidence], Finding | None]


def sure(value: float, threshold: float, certain: float) -> float:
    """Confidence: 0.5 at the threshold, 1 at `certain` and beyond, linear between."""
    return float(min(1.0, 0.5 + 0.5 * (value - threshold) / (certain - threshold)))
