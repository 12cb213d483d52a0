"""Pose backends that run the papers' models in environments of their own. Their answers go through the readers of their files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lookback import runners
from lookback.artifacts import Artifact, PoseTrack
from lookback.backends.pose.formats import INTRINSICS_FILE, OMEGA_W2C, read_poses
from lookback.backends.pose.track import with_facts
from lookback.backends.runner import RunnerBackend
from lookback.clips import Clip
from lookback.errors import ContractError, NotScorable, Reason
from lookback.media import VideoInfo
from lookback.registry import backend
from lookback.scratch import scratch_folder


class RunnerPoses(RunnerBackend):
    """Sends every frame of a clip to the model, which takes them in one forward pass."""

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _RunnerJob:
        return _RunnerJob(self.model, self.runner, info)


class _RunnerJob:
    wants = None  # every frame

    def __init__(self, model: runners.Model, runner: runners.Runner, info: VideoInfo):
        self.model, self.runner, self.info = model, runner, info
        self.begun = False

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        if not self.begun:
            self.runner.begin(fps=self.info.fps, n_frames=self.info.n_frames)
            self.begun = True
        self.runner.push(frames)

    def finish(self) -> PoseTrack:
        if not self.begun:
            raise NotScorable(Reason.DECODE_FAILED, "the video has no frame")
        answer = self.runner.answer()
        try:
            with scratch_folder("poses") as folder:
                found = read_poses(write_answer(folder, self.model.format, answer.arrays), self.model.format, self.info)
        except ContractError as error:
            raise NotScorable(Reason.BACKEND_FAILED, f"{self.model.name}: {error}") from None
        return with_facts(found, format=self.model.format, model=self.model.name, ran_with=answer.facts)


def write_answer(folder: Path, format: str, arrays: dict[str, np.ndarray]) -> Path:
    """Write a model's answer as the files that its own program writes; returns the file to read."""
    if format == "vggt_omega":
        np.save(folder / INTRINSICS_FILE, arrays["intrinsic"])
        np.save(folder / OMEGA_W2C, arrays["extrinsic"])
        return folder / OMEGA_W2C
    if format == "vipe":
        for name in ("pose", "intrinsics"):
            (folder / name).mkdir()
        np.savez(folder / "intrinsics" / "clip.npz", data=arrays["intrinsics"], inds=arrays["inds"])
        np.savez(folder / "pose" / "clip.npz", data=arrays["data"], inds=arrays["inds"])
        return folder / "pose" / "clip.npz"
    held: dict[str, Any] = dict(arrays)
    np.savez(folder / "results.npz", **held)
    return folder / "results.npz"


for _model in runners.catalogue().values():
    if _model.role == "pose":
        _kind = type(f"{_model.script.removesuffix('.py')}_poses", (RunnerPoses,), {"model": _model})
        backend(role="pose", name=_model.name, title=f"{_model.title} in an environment of its own", embedded=False)(_kind)
