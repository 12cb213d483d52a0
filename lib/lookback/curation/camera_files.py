"""Reads and checks the camera files of a clip, and tells from them whether the camera leaves its first view and returns.

Other files that were made elsewhere (masks, depth, faces ...) are checked here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lookback.artifacts import Artifact, PoseTrack
from lookback.artifacts.poses import MAPPED
from lookback.backends.files import read_given
from lookback.backends.pose.formats import read_poses
from lookback.backends.pose.loading import UNKNOWN_FOV_DEG, load_arrays, need
from lookback.backends.pose.track import travelled_rotation_deg
from lookback.camera.poses import Poses, signed_peak, square, total_rotation_deg, turned_yaw_deg, validate_poses
from lookback.camera.requests import target_path
from lookback.clips import Clip
from lookback.curation.probing import Facts
from lookback.curation.trajectory import UNKNOWN, Challenge, challenge_from_path, trajectory_class
from lookback.errors import ContractError, MediaError, NotScorable, Reason
from lookback.layouts.reading import Breach, ClipRef, Findings
from lookback.media.frames import image_size
from lookback.paths import resolve
from lookback.registry import BENCHMARKS


@dataclass(frozen=True)
class CameraFiles:
    """The camera paths that could be read: of the generated video, of the ground truth, and the requested one."""

    own: PoseTrack | None = None
    truth: PoseTrack | None = None
    target: Poses | None = None

    def screen(self, clip: Clip, facts: Facts) -> dict[str, Any]:
        """Trajectory of the requested path, or of the clip's own. Challenge from its own path, the phases or the request."""
        name, path = self._requested(clip)
        source = f"path: {name}" if name else ""
        challenge, by = self._challenge(clip, facts, name, path)
        rotation = None if path is None else (travelled_rotation_deg(path) if name == "poses" else total_rotation_deg(path))
        return {
            "total_rotation_deg": rotation,
            "peak_yaw_deg": None if path is None else signed_peak(turned_yaw_deg(path)),
            "trajectory": ""
            if path is None
            else trajectory_class(path, observer=BENCHMARKS.get(clip.benchmark).observer_walks(clip)),
            "departs": challenge.departs,
            "returns": challenge.returns,
            "gap_frames": challenge.gap_frames,
            "source": "; ".join(part for part in (source, f"challenge: {by}" if by else "") if part),
        }

    def _requested(self, clip: Clip) -> tuple[str, Poses | None]:
        if self.truth is not None:
            return "gt_poses", self.truth.c2w
        if self.target is not None:
            return "target_poses", self.target
        if (path := target_path(clip)) is not None:
            return "camera", path
        return ("poses", self.own.c2w) if self.own is not None else ("", None)

    def _challenge(self, clip: Clip, facts: Facts, name: str, path: Poses | None) -> tuple[Challenge, str]:
        if self.own is not None:
            fov = _fov(self.own, facts)
            rows = np.rint(np.interp(np.arange(facts.n_frames), self.own.frame_index, np.arange(len(self.own.c2w)))).astype(int)
            return challenge_from_path(self.own.c2w[rows], fov), f"poses{_assumed(self.own.focal_source)}"
        if clip.d_start is not None and clip.r_start is not None:
            return Challenge(True, True, clip.r_start - clip.d_start), "phases"
        if path is None:
            return UNKNOWN, ""
        if name == "gt_poses" and self.truth is not None:
            return challenge_from_path(path, _fov(self.truth, facts)), f"gt_poses{_assumed(self.truth.focal_source)}"
        horizontal = clip.fov_deg or UNKNOWN_FOV_DEG
        vertical = 2 * np.degrees(np.arctan(np.tan(np.radians(horizontal) / 2) * facts.height / facts.width))
        return challenge_from_path(path, (horizontal, float(vertical))), f"{name}{'' if clip.fov_deg else _assumed('assumed')}"


def _assumed(focal_source: str) -> str:
    return f" (field of view assumed {UNKNOWN_FOV_DEG:g} deg)" if focal_source.startswith("assumed") else ""


def _fov(track: PoseTrack, facts: Facts) -> tuple[float, float]:
    """Field of view (x, y) of the first frame: 2 atan(size / 2 f). Twice the principal point is used as the size."""
    matrix = track.intrinsics[0]
    width, height = (2 * matrix[0, 2], 2 * matrix[1, 2]) if min(matrix[0, 2], matrix[1, 2]) > 0 else (facts.width, facts.height)
    return float(2 * np.degrees(np.arctan(width / (2 * matrix[0, 0])))), float(
        2 * np.degrees(np.arctan(height / (2 * matrix[1, 1])))
    )


def check_given_files(clip: Clip, facts: Facts, findings: Findings, item: ClipRef) -> None:
    """Read every file of masks, depth, faces ... that was made elsewhere. A broken one is a violation."""
    for role, path in clip.files.items():
        with findings.guard(f"files.{role}", item), _contract(path, role), suppress(NotScorable):  # nothing found is no mistake
            _warn_of_few(read_given(role, resolve(path), facts.info(resolve(clip.video))), path, f"files.{role}", findings, item)


def inspect_cameras(clip: Clip, facts: Facts, truth: Facts | None, findings: Findings, item: ClipRef) -> CameraFiles:
    """Read every camera file of the clip. A broken file is a violation of its field."""
    own = ground = target = None
    with findings.guard("poses", item), _contract(clip.poses, "poses"):
        if clip.poses and clip.poses_format:
            own = read_poses(resolve(clip.poses), clip.poses_format, facts.info(resolve(clip.video)))
    with findings.guard("gt_intrinsics", item), _contract(clip.gt_intrinsics, "gt_intrinsics"):
        if clip.gt_intrinsics:
            _check_intrinsics(resolve(clip.gt_intrinsics))
    broken = any(violation.concerns == "gt_intrinsics" for violation in findings.violations)  # poses.npy is read together with them
    with findings.guard("gt_poses", item), _contract(clip.gt_poses, "gt_poses"):
        if clip.gt_poses and clip.gt_poses_format and truth is not None and not broken:
            ground = read_poses(resolve(clip.gt_poses), clip.gt_poses_format, truth.info(resolve(clip.ground_truth or clip.video)))
    with findings.guard("target_poses", item), _contract(clip.target_poses, "target_poses"):
        if clip.target_poses:
            path = resolve(clip.target_poses)
            target = validate_poses(square(need(load_arrays(path), ("array", "c2w"), path), path), str(path))
    _warn_of_few(own, clip.poses, "poses", findings, item)
    _warn_of_few(ground, clip.gt_poses, "gt_poses", findings, item)
    if target is not None:
        _check_lengths(clip, len(target), facts, findings, item)
    _check_reference(clip, findings, item)
    return CameraFiles(own, ground, target)


def _warn_of_few(read: Artifact | None, path: str | None, concerns: str, findings: Findings, item: ClipRef) -> None:
    """A warning where the file has fewer rows than the video has frames."""
    for note in (note for note in getattr(read, "notes", ()) if MAPPED in note):
        breach = Breach(resolve(path or ""), concerns.removeprefix("files."), note, "estimate the other frames, too")
        findings.add(breach, concerns, item, kept=True, warning=True)


@contextmanager
def _contract(path: str | None, field: str) -> Iterator[None]:
    """A ContractError about a file ('path: what; remedy') as a breach of the field."""
    try:
        yield
    except ContractError as error:
        file = resolve(path or "")
        text = str(error).removeprefix(str(file)).lstrip(":, ").rstrip(".")
        problem, _, remedy = text.rpartition("; ")
        raise Breach(file, field, problem or text, remedy if problem else "export the file again") from None


def _check_intrinsics(path: Path) -> None:
    values = need(load_arrays(path), ("array",), path)
    rows = (
        values.reshape(-1, 9)[:, [0, 4]]
        if values.shape[-2:] == (3, 3)
        else values.reshape(-1, values.shape[-1] if values.ndim else 1)[:, :2]
    )
    if values.ndim < 1 or not (values.shape[-2:] == (3, 3) or (values.ndim <= 2 and values.shape[-1] == 4)):
        raise ContractError(f"{path}: has the shape {values.shape}; store rows of fx, fy, cx, cy or 3x3 matrices")
    if rows.size == 0 or not np.isfinite(rows.astype(np.float64)).all() or rows.min() <= 0:
        raise ContractError(f"{path}: has a focal length that is no number above 0; export the intrinsics again")


def _check_lengths(clip: Clip, n_poses: int, facts: Facts, findings: Findings, item: ClipRef) -> None:
    """Compare target poses and sidecar with the video. The field stays: the metric that needs it gives the same reason."""
    if n_poses != facts.n_frames:
        problem = f"has {n_poses} poses, but the video has {facts.n_frames} frames"
        breach = Breach(
            resolve(clip.target_poses or ""),
            "target_poses",
            problem,
            "generate as many frames as were asked for",
            Reason.LENGTH_MISMATCH,
        )
        findings.add(breach, "target_poses", item, kept=True)
    stated = clip.extras.get("num_frames")
    if stated is not None and stated != facts.n_frames:
        problem = f"is {stated}, but the video has {facts.n_frames} frames"
        findings.add(
            Breach(resolve(clip.video), "num_frames", problem, "correct the sidecar", Reason.LENGTH_MISMATCH),
            "target_poses",
            item,
            kept=True,
        )
    size = clip.extras.get("image_size")
    if size is not None and list(size) != [facts.width, facts.height]:
        problem = f"is {size}, but the video is {facts.width}x{facts.height}"
        findings.add(
            Breach(resolve(clip.video), "image_size", problem, "correct the sidecar", Reason.SIZE_MISMATCH),
            "target_poses",
            item,
            kept=True,
        )


def _check_reference(clip: Clip, findings: Findings, item: ClipRef) -> None:
    if clip.reference_image is None:
        return
    path = resolve(clip.reference_image)
    try:
        image_size(path)
    except (MediaError, OSError) as error:
        text = str(error).removeprefix(f"{path}: ")
        problem, _, remedy = text.rpartition("; ")
        breach = Breach(path, "reference_image", problem or text, remedy if problem else "copy it again", Reason.DECODE_FAILED)
        findings.add(breach, "reference_image", item)
