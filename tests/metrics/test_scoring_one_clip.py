"""One clip through its metrics: which frames LPIPS is given, and where the seconds go."""

import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lookback.artifacts import Features
from lookback.benchmarks.memobench.metrics import fidelity
from lookback.benchmarks.memobench.metrics.fidelity import frame_psnr
from lookback.benchmarks.mind.metrics import dino
from lookback.benchmarks.mind.metrics import fidelity as mind_fidelity
from lookback.clips import Clip
from lookback.media import encode
from lookback.registry import METRICS
from lookback.scoring.clip import score_clip
from lookback.scoring.contract import ScoringClip

FRAMES, HEIGHT, WIDTH = 24, 48, 80


class Perceptual:
    """Stands in for the network: remembers the frames it saw, answers their mean difference, and takes its time."""

    def __init__(self):
        self.shapes = []

    def distance(self, a, b, net):
        self.shapes.append(a.shape)
        time.sleep(0.05)
        return np.abs(a.astype(float) - b).mean(axis=(1, 2, 3)) / 255


class Patches:
    """Stands in for DINO: the pixels themselves are the features."""

    def encode(self, frames):
        patches = frames.reshape(len(frames), -1, 3).astype(np.float16)
        count, places = patches.shape[:2]
        facts = {
            "cls": patches.mean(axis=1, dtype=np.float32),
            "valid": np.ones((count, places), bool),
            "grid": np.array([1, places]),
        }
        return Features(frame_index=np.arange(count), patches=patches, **facts)


def noisy_clip(folder: Path, width: int) -> Clip:
    video = np.random.default_rng(0).integers(0, 255, (FRAMES, HEIGHT, width, 3), np.uint8)
    encode(folder / "video.mp4", video, 16)
    encode(folder / "truth.mp4", video // 2, 16)
    names = {"benchmark": "memobench", "setting": "real", "model_id": "m", "clip_id": "c", "scene": "s", "content_hash": "0" * 64}
    facts = {"n_frames": FRAMES, "fps": 16.0, "width": width, "height": HEIGHT, "gt_frames": FRAMES, "d_start": 8, "r_start": 16}
    return Clip(**names, **facts, video=str(folder / "video.mp4"), ground_truth=str(folder / "truth.mp4"))


@pytest.fixture(scope="module")
def clip(tmp_path_factory) -> Clip:
    return noisy_clip(tmp_path_factory.mktemp("clip"), WIDTH)


def asked(name: str, clip: Clip, variant: str, constants, tool):
    """A metric, and the clip as it sees it."""
    spec = METRICS.get(name)
    given = (clip, variant, constants, pd.DataFrame(), lambda role: None, lambda role: tool)
    return spec, ScoringClip(*given, settings=spec.preset(variant, constants))


def scored(clip: Clip, names, constants, perceptual, spent=None):
    return score_clip([asked(name, clip, "paper", constants, perceptual) for name in names], spent)


def test_lpips_sees_few_and_small_frames_when_asked_and_says_so(clip):
    every, few = Perceptual(), Perceptual()
    (whole,) = scored(clip, ["memobench.lpips"], {}, every)
    (thin,) = scored(clip, ["memobench.lpips"], {"lpips_every": 24, "lpips_side": 40}, few)
    assert every.shapes == [(1, HEIGHT, WIDTH, 3)] * FRAMES and {item.detail for item in whole.items} == {""}
    assert few.shapes == [(1, 24, 40, 3)] * 3  # one frame of each phase
    assert {item.detail for item in thin.items} == {"every 24th frame; frames of at most 40 px"}
    assert all(item.value > 0.05 for item in thin.items)


class Broken:
    """A network that fails over its frames."""

    def distance(self, a, b, net):
        raise RuntimeError("out of memory")


def test_a_metric_that_breaks_over_its_frames_costs_only_itself(clip):
    broken, sound = scored(clip, ["memobench.lpips", "memobench.psnr"], {}, Broken())
    assert {item.reason for item in broken.items} == {"backend_failed"}
    assert "out of memory" in broken.items[0].detail
    assert all(item.value is not None for item in sound.items)


@pytest.mark.parametrize("name", ["mind.lcm", "mind.dino"])
def test_variants_that_share_their_pairs_keep_their_own_frames(tmp_path, monkeypatch, name):
    """130 frames: corrected scores all of them, official the first 100, also when both are scored at once."""
    monkeypatch.setattr(mind_fidelity, "preprocess", lambda frame: frame.astype(np.float32) / 255)
    monkeypatch.setattr(dino, "preprocess", lambda frame: frame.astype(np.float32) / 255)
    video = np.random.default_rng(0).integers(0, 255, (130, 32, 48, 3), np.uint8)
    encode(tmp_path / "video.mp4", video, 16)
    encode(tmp_path / "truth.mp4", np.roll(video, 3, axis=2), 16)
    names = {"benchmark": "mind", "setting": "1st_data", "model_id": "m", "clip_id": "c", "content_hash": "0" * 64}
    facts = {"n_frames": 130, "fps": 16.0, "width": 48, "height": 32, "gt_frames": 130, "mark_time": 0, "subset": "mem_test"}
    clip = Clip(**names, **facts, video=str(tmp_path / "video.mp4"), ground_truth=str(tmp_path / "truth.mp4"))
    metrics = [asked(name, clip, variant, {"lpips": 0}, Patches()) for variant in ("corrected", "official")]
    together, alone = score_clip(metrics), [score_clip([metric])[0] for metric in metrics]
    assert together == alone
    counted = [{unit.frame for unit in result.units} for result in together]
    assert counted == [set(range(130)), set(range(100))]
    assert together[0].items[0].value != together[1].items[0].value


@pytest.mark.parametrize(("width", "times"), [(WIDTH, 1), (656, 2)])
def test_variants_share_a_pair_of_frames_that_both_see_at_one_size(tmp_path, monkeypatch, width, times):
    """Official shrinks frames over 640 px, so that only smaller ones are the same to both; each keeps its own SSIM border."""
    clip, measured = noisy_clip(tmp_path, width), []
    monkeypatch.setattr(fidelity, "frame_psnr", lambda a, b: measured.append(a.shape) or frame_psnr(a, b))
    metrics = [
        asked(name, clip, variant, {}, None) for name in ("memobench.psnr", "memobench.ssim") for variant in ("paper", "official")
    ]
    together = score_clip(metrics)
    assert len(measured) == times * FRAMES
    assert together == [score_clip([metric])[0] for metric in metrics]
    assert together[2].items[-1].value != together[3].items[-1].value


def test_every_metric_is_told_its_own_seconds(clip):
    spent = defaultdict(float)
    scored(clip, ["memobench.lpips", "memobench.psnr", "memobench.ssim"], {"lpips_every": 24}, Perceptual(), spent)
    assert set(spent) == {"memobench.lpips paper", "memobench.psnr paper", "memobench.ssim paper"}
    assert 0.04 < spent["memobench.lpips paper"] < 5  # three distances of 0.05 s, on as many threads as there are
    share = spent["memobench.psnr paper"] / spent["memobench.ssim paper"]
    assert 0.5 < share < 2  # the two share one computation, and its time
