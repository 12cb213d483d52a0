"""Sharpness against scipy; pyiqa and ImageReward through the interface their packages document."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from conftest import clip, options, run_job, shifting_clip, video_info
from lookback.backends import quality
from lookback.backends.quality import ImageReward, PyIqa, Sharpness, sharpness
from lookback.errors import NotScorable, Reason
from scipy.ndimage import convolve
from skimage.filters import gaussian


def test_sharpness_is_the_variance_of_scipys_laplacian(astronaut: np.ndarray):
    grey = np.repeat(astronaut[:100, :120, :1], 3, axis=2)
    kernel = [[0, 1, 0], [1, -4, 1], [0, 1, 0]]
    assert sharpness(grey) == pytest.approx(convolve(grey[..., 0].astype(float), kernel, mode="mirror").var(), rel=1e-9)


def test_blur_takes_sharpness_away_frame_by_frame(astronaut: np.ndarray):
    picture = astronaut[:96, 60:220]
    frames = np.stack([(gaussian(picture, sigma, channel_axis=-1) * 255).astype(np.uint8) for sigma in (0.01, 1, 2, 4)])
    entry = run_job(Sharpness(options(sample_fps=8)).start(clip(), video_info(frames), {}), frames)
    assert entry.frame_index.tolist() == [0, 1, 2, 3] and np.all(np.diff(entry.sharpness) < 0)
    assert set(entry.pack().arrays) == {"frame_index", "sharpness"}  # under its own name, never as a paper's score


def test_pyiqa_scores_every_sampled_frame(tmp_path: Path, astronaut: np.ndarray, monkeypatch: pytest.MonkeyPatch):
    """A stand-in module with pyiqa's documented interface: create_metric(name, device) and a call on (n,3,H,W) in [0,1]."""
    built: list[str] = []

    def create_metric(name: str, device: torch.device):
        built.append(name)
        return lambda images: images.mean((1, 2, 3), keepdim=False)[:, None] * {"musiq-spaq": 100, "clipiqa+": 1}[name]

    stand_in = ModuleType("pyiqa")
    stand_in.create_metric = create_metric  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyiqa", stand_in)
    hub = torch.hub.get_dir()
    quality._pyiqa_metric.cache_clear()
    frames = shifting_clip(astronaut, 9, 40, 60, 5)
    backend = PyIqa(options(path=str(tmp_path)))
    only = backend.measure(frames / np.float32(255), ("musiq",))
    assert built == ["musiq-spaq"] and list(only) == ["musiq"]  # what nobody asks for is not loaded
    entry = run_job(backend.start(clip(), video_info(frames), {}), frames)
    assert torch.hub.get_dir() == str(tmp_path)
    torch.hub.set_dir(hub)
    quality._pyiqa_metric.cache_clear()
    assert sorted(built) == ["clipiqa+", "musiq-spaq"]
    expected = frames[entry.frame_index].mean((1, 2, 3)) / 255
    assert only["musiq"] == pytest.approx(frames.mean((1, 2, 3)) / 2.55, rel=1e-4)
    for name, scale in {"musiq": 100, "clipiqa": 1}.items():
        assert getattr(entry, name) == pytest.approx(expected * scale, rel=1e-4)


def test_sharpness_stands_in_for_no_other_measure(astronaut: np.ndarray):
    with pytest.raises(NotScorable, match="musiq need the pyiqa extra") as raised:
        Sharpness(options()).measure(astronaut[None], ("musiq",))
    assert raised.value.reason is Reason.BACKEND_UNAVAILABLE


def test_image_reward_scores_frames_for_the_prompt(tmp_path: Path, astronaut: np.ndarray, monkeypatch: pytest.MonkeyPatch):
    """A stand-in module with ImageReward's documented interface: load(file, device, med_config) and score(prompt, pictures)."""
    asked: list[tuple[str, int]] = []

    class Model:
        def score(self, prompt: str, pictures: list) -> list[float] | float:
            asked.append((prompt, len(pictures)))
            values = [float(np.asarray(picture).mean()) / 255 for picture in pictures]
            return values if len(values) > 1 else values[0]

    def load(name: str, device: str, med_config: str) -> Model:
        assert name == str(tmp_path / "ImageReward.pt") and med_config == str(tmp_path / "med_config.json")
        return Model()

    stand_in = ModuleType("ImageReward")
    stand_in.load = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ImageReward", stand_in)
    quality._image_reward_model.cache_clear()
    frames = shifting_clip(astronaut, 9, 40, 60, 5)
    entry = run_job(ImageReward(options(path=str(tmp_path))).start(clip(prompt="a portrait"), video_info(frames), {}), frames)
    quality._image_reward_model.cache_clear()
    assert entry.image_reward == pytest.approx(frames[entry.frame_index].mean((1, 2, 3)) / 255, rel=1e-4)
    assert {prompt for prompt, _ in asked} == {"a portrait"}


def test_a_clip_without_a_prompt_has_no_reward(tmp_path: Path, astronaut: np.ndarray):
    with pytest.raises(NotScorable) as raised:
        ImageReward(options(path=str(tmp_path))).start(clip(), video_info(astronaut[None]), {})
    assert raised.value.reason is Reason.MISSING_INPUT
