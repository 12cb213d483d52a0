"""The roles `quality` (the quality of single frames, without a reference) and `image_reward` (how well frames fit the prompt).

- `quality=pyiqa`: MUSIQ and CLIP-IQA+ of the package `pyiqa`, in an environment of its own (`lookback models install pyiqa`).
  (LAION's aesthetic scores are the role `aesthetic`.)
- `quality=sharpness`: variance of the Laplacian, embedded. It does not replace any score of a paper.
- `image_reward=image-reward`: ImageReward (Xu et al. 2023), MemoBench's prompt fidelity, also in an environment of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import cv2
import numpy as np

from lookback import runners
from lookback.artifacts import Artifact, FrameRows, Quality, Rewards
from lookback.backends.runner import RunnerBackend
from lookback.backends.runtime import SAMPLING, ConfiguredBackend, sampled_frames
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo
from lookback.registry import backend

Measure = Callable[[np.ndarray], dict[str, np.ndarray]]


class QualityJob:
    """Measures the sampled frames of one clip.

    `measure` takes at most `batch_size` frames uint8 (n,H,W,3) and gives values (n,) by name. The names are fields of the artifact
    class `made`.
    """

    def __init__(
        self, measure: Measure, batch_size: int, wants: np.ndarray, facts: dict[str, Any], made: Callable[..., FrameRows] = Quality
    ):
        self.measure, self.batch_size, self.wants, self.facts, self.made = measure, batch_size, wants, facts, made
        self.indices: list[np.ndarray] = []
        self.values: dict[str, list[np.ndarray]] = {}

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        self.indices.append(np.asarray(indices, np.int64))
        for start in range(0, len(frames), self.batch_size):
            for name, values in self.measure(frames[start : start + self.batch_size]).items():
                self.values.setdefault(name, []).append(np.asarray(values, np.float32).reshape(-1))

    def finish(self) -> FrameRows:
        measures = {name: np.concatenate(parts) for name, parts in self.values.items()}
        means = {name: round(float(values.mean()), 4) for name, values in measures.items()}
        return self.made(frame_index=np.concatenate(self.indices), **measures, facts={**self.facts, "means": means})


def sharpness(frame: np.ndarray) -> float:
    """Variance of the 3x3 Laplacian of the luma of one frame uint8 (H,W,3) (Pech-Pacheco et al. 2000)."""
    return float(cv2.Laplacian(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY), cv2.CV_64F).var())


class MeasuresFrames:
    """A backend of the role `quality`. Metrics with frames of their own call `measure` with the names that they need."""

    offers: ClassVar[tuple[str, ...]]

    def require(self, *names: str) -> None:
        """NotScorable when this backend lacks one of the measures. Sharpness does not replace the others."""
        if missing := [name for name in names if name not in self.offers]:
            raise NotScorable(Reason.BACKEND_UNAVAILABLE, f"{' and '.join(missing)} need pyiqa; run: lookback models install pyiqa")


@backend(
    role="quality",
    name="sharpness",
    title="Laplacian sharpness (no stand-in for MUSIQ, CLIP-IQA+ or LAION)",
    embedded=True,
)
class Sharpness(MeasuresFrames, ConfiguredBackend):
    """One value per sampled frame: `sharpness`."""

    defaults = SAMPLING
    offers = ("sharpness",)

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> QualityJob:
        wants, sampling = sampled_frames(clip, info, self.settings)
        return QualityJob(self.measure, self.options.batch_size, wants, {"sampling": sampling})

    def measure(self, frames: np.ndarray, names: Sequence[str] = offers) -> dict[str, np.ndarray]:
        """Values (n,) by name of frames uint8 (n,H,W,3)."""
        self.require(*names)
        return {"sharpness": np.array([sharpness(frame) for frame in frames])}


@backend(role="quality", name="pyiqa", title="MUSIQ-SPAQ and CLIP-IQA+ (pyiqa) in an environment of its own", embedded=False)
class PyIqa(MeasuresFrames, RunnerBackend):
    """Per sampled frame: `musiq` (about 0 to 100) and `clipiqa` (0 to 1)."""

    offers = ("musiq", "clipiqa")
    defaults = SAMPLING
    model = runners.model("pyiqa")

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> QualityJob:
        wants, sampling = sampled_frames(clip, info, self.settings)
        return QualityJob(self.measure, self.options.batch_size, wants, {"sampling": sampling})

    def measure(self, frames: np.ndarray, names: Sequence[str] = offers) -> dict[str, np.ndarray]:
        """Values (n,) by name of frames (n,H,W,3), uint8 or float in [0,1]."""
        self.require(*names)
        return self.ask(frames if frames.dtype == np.uint8 else frames.astype(np.float32), measures=list(names))


@backend(role="image_reward", name="image-reward", title="ImageReward-v1.0 in an environment of its own", embedded=False)
class ImageReward(RunnerBackend):
    """The raw reward of each sampled frame for the prompt of the clip, about -2 to 2."""

    defaults = SAMPLING
    model = runners.model("image-reward")

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> QualityJob:
        if not clip.prompt:
            raise NotScorable(Reason.MISSING_INPUT, "the clip has no prompt")
        wants, sampling = sampled_frames(clip, info, self.settings)
        measure = lambda frames: {"image_reward": self.rewards(clip.prompt, frames)}  # noqa: E731 - closes over the clip's prompt
        return QualityJob(measure, self.options.batch_size, wants, {"sampling": sampling}, Rewards)

    def rewards(self, prompt: str, frames: np.ndarray) -> np.ndarray:
        """Rewards (n,) of frames uint8 (n,H,W,3)."""
        return self.ask(frames, prompt=prompt)["image_reward"]
