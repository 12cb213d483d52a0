"""The roles `quality` (the quality of single frames, without a reference) and `image_reward` (how well frames fit the prompt).

- `quality=pyiqa`: MUSIQ and CLIP-IQA+, through the optional package `pyiqa` and checkpoints on disk. `pyiqa` brings another build
  of OpenCV, so it needs an environment of its own. (LAION's aesthetic scores are the role `aesthetic`.)
- `quality=sharpness`: variance of the Laplacian, embedded. It does not replace any score of a paper.
- `image_reward=image-reward`: ImageReward (Xu et al. 2023), MemoBench's prompt fidelity, through the optional package
  `image-reward` and local files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import cv2
import numpy as np

from lookback.artifacts import Artifact, FrameRows, Quality, Rewards
from lookback.backends.runtime import SAMPLING, ConfiguredBackend, Options, TorchBackend, sampled_frames
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo
from lookback.registry import backend

PYIQA_METRICS = {"musiq": "musiq-spaq", "clipiqa": "clipiqa+"}  # array name: name in pyiqa
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
            raise NotScorable(Reason.BACKEND_UNAVAILABLE, f"{' and '.join(missing)} need the pyiqa extra; see lookback doctor")


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


@backend(
    role="quality",
    name="pyiqa",
    title="MUSIQ-SPAQ and CLIP-IQA+ (pyiqa)",
    embedded=False,
    weights=("pyiqa",),
)
class PyIqa(MeasuresFrames, TorchBackend):
    """Per sampled frame: `musiq` (about 0 to 100) and `clipiqa` (0 to 1)."""

    offers = tuple(PYIQA_METRICS)

    defaults: ClassVar[Options] = {**SAMPLING, "path": ""}
    weights = ("pyiqa",)
    modules = ("torch", "pyiqa")
    install = "pyiqa==0.1.15.post2 (in an environment of its own)"

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> QualityJob:
        wants, sampling = sampled_frames(clip, info, self.settings)
        return QualityJob(self.measure, self.options.batch_size, wants, {"sampling": sampling, "metrics": PYIQA_METRICS})

    def measure(self, frames: np.ndarray, names: Sequence[str] = offers) -> dict[str, np.ndarray]:
        """Values (n,) by name of frames (n,H,W,3), uint8 or float in [0,1]."""
        import torch

        self.require(*names)
        images = torch.from_numpy(np.ascontiguousarray(frames)).to(self.device).permute(0, 3, 1, 2).float()
        images = images.div_(255) if frames.dtype == np.uint8 else images
        with torch.inference_mode():
            found = {name: _pyiqa_metric(PYIQA_METRICS[name], self.path, self.device)(images) for name in names}
        return {name: values.float().cpu().numpy().reshape(-1) for name, values in found.items()}


@lru_cache(maxsize=4)
def _pyiqa_metric(known: str, path: Path, device: str) -> Any:
    """A metric of pyiqa. It looks for checkpoints in torch's hub folder and downloads missing ones; here all are on disk."""
    import torch

    torch.hub.set_dir(str(path))
    import pyiqa

    return pyiqa.create_metric(known, device=torch.device(device))


@backend(role="image_reward", name="image-reward", title="ImageReward-v1.0", embedded=False, weights=("image-reward",))
class ImageReward(TorchBackend):
    """The raw reward of each sampled frame for the prompt of the clip, about -2 to 2."""

    defaults: ClassVar[Options] = {**SAMPLING, "path": ""}
    weights = ("image-reward",)
    modules = ("torch", "ImageReward")
    install = "image-reward==1.5 (in an environment of its own)"

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> QualityJob:
        if not clip.prompt:
            raise NotScorable(Reason.MISSING_INPUT, "the clip has no prompt")
        wants, sampling = sampled_frames(clip, info, self.settings)
        measure = lambda frames: {"image_reward": self.rewards(clip.prompt, frames)}  # noqa: E731 - closes over the clip's prompt
        return QualityJob(measure, self.options.batch_size, wants, {"sampling": sampling}, Rewards)

    def rewards(self, prompt: str, frames: np.ndarray) -> np.ndarray:
        """Rewards (n,) of frames uint8 (n,H,W,3)."""
        import torch
        from PIL import Image

        with torch.inference_mode():
            scores = _image_reward_model(self.path, self.device).score(prompt, [Image.fromarray(frame) for frame in frames])
        return np.atleast_1d(np.asarray(scores, np.float32))


@lru_cache(maxsize=1)
def _image_reward_model(folder: Path, device: str) -> Any:
    import ImageReward

    return ImageReward.load(str(folder / "ImageReward.pt"), device=device, med_config=str(folder / "med_config.json"))
