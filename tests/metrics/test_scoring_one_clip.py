"""One clip through its metrics: which frames LPIPS is given, and where the seconds go."""

import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lookback.clips import Clip
from lookback.media import encode
from lookback.registry import METRICS
from lookback.scoring.clip import score_clip
from lookback.scoring.context import ScoringClip

FRAMES, HEIGHT, WIDTH = 24, 48, 80


class Perceptual:
    """Stands in for the network: remembers the frames it saw, answers their mean difference, and takes its time."""

    def __init__(self):
        self.shapes = []

    def distance(self, a, b, net):
        self.shapes.append(a.shape)
        time.sleep(0.05)
        return np.abs(a.astype(float) - b).mean(axis=(1, 2, 3)) / 255


@pytest.fixture(scope="module")
def clip(tmp_path_factory) -> Clip:
    folder: Path = tmp_path_factory.mktemp("clip")
    video = np.random.default_rng(0).integers(0, 255, (FRAMES, HEIGHT, WIDTH, 3), np.uint8)
    encode(folder / "video.mp4", video, 16)
    encode(folder / "truth.mp4", video // 2, 16)
    names = {"benchmark": "memobench", "setting": "real", "model_id": "m", "clip_id": "c", "scene": "s", "content_hash": "0" * 64}
    facts = {"n_frames": FRAMES, "fps": 16.0, "width": WIDTH, "height": HEIGHT, "gt_frames": FRAMES, "d_start": 8, "r_start": 16}
    return Clip(**names, **facts, video=str(folder / "video.mp4"), ground_truth=str(folder / "truth.mp4"))


def scored(clip: Clip, names, constants, perceptual, spent=None):
    metrics = [
        (METRICS.get(name), ScoringClip(clip, "paper", constants, pd.DataFrame(), lambda role: None, lambda role: perceptual))
        for name in names
    ]
    return score_clip(metrics, spent)


def test_lpips_sees_few_and_small_frames_when_asked_and_says_so(clip):
    every, few = Perceptual(), Perceptual()
    (whole,) = scored(clip, ["memobench.lpips"], {}, every)
    (thin,) = scored(clip, ["memobench.lpips"], {"lpips_every": 24, "lpips_side": 40}, few)
    assert every.shapes == [(1, HEIGHT, WIDTH, 3)] * FRAMES and {item.detail for item in whole.items} == {""}
    assert few.shapes == [(1, 24, 40, 3)] * 3  # one frame of each phase
    assert {item.detail for item in thin.items} == {"every 24th frame; frames of at most 40 px"}
    assert all(item.value > 0.05 for item in thin.items)


def test_every_metric_is_told_its_own_seconds(clip):
    spent = defaultdict(float)
    scored(clip, ["memobench.lpips", "memobench.psnr", "memobench.ssim"], {"lpips_every": 24}, Perceptual(), spent)
    assert set(spent) == {"memobench.lpips paper", "memobench.psnr paper", "memobench.ssim paper"}
    assert 0.04 < spent["memobench.lpips paper"] < 5  # three distances of 0.05 s, on as many threads as there are
    share = spent["memobench.psnr paper"] / spent["memobench.ssim paper"]
    assert 0.5 < share < 2  # the two share one computation, and its time
