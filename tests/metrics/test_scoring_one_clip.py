"""One clip through its metrics: which frames LPIPS is given, and where the seconds go."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lookback.benchmarks.memobench.metrics import fidelity
from lookback.benchmarks.memobench.metrics.fidelity import frame_psnr
from lookback.clips import Clip
from lookback.measures import images
from lookback.media import encode
from lookback.registry import METRICS
from lookback.scoring import decode
from lookback.scoring.clip import score_clip
from lookback.scoring.contract import Item, Scored, ScoringClip, Unit, mean_item

FRAMES, HEIGHT, WIDTH = 24, 48, 80


class Perceptual:
    """Stands in for the network: remembers the frames it saw, and answers their mean difference."""

    def __init__(self):
        self.shapes = []

    def distance(self, a, b, net):
        self.shapes.append(a.shape)
        return np.abs(a.astype(float) - b).mean(axis=(1, 2, 3)) / 255


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


class Clock:
    """Each reading is a second after the one before, so that the seconds of a block are known; work takes what it says."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self) -> float:
        self.now += 1
        return self.now


class Slow(Perceptual):
    """A network that takes a minute for a pair of frames."""

    def __init__(self, clock: Clock):
        super().__init__()
        self.clock = clock

    def distance(self, a, b, net):
        self.clock.now += 60
        return super().distance(a, b, net)


def test_every_metric_is_told_its_own_seconds(clip, monkeypatch):
    clock, spent = Clock(), defaultdict(float)
    monkeypatch.setattr(decode, "time", clock)
    monkeypatch.setattr(images, "thread_count", lambda: 1)
    scored(clip, ["memobench.lpips", "memobench.psnr", "memobench.ssim"], {"lpips_every": 24}, Slow(clock), spent)
    begin_and_end, answers = 2, 4  # for three phases and the whole clip
    assert spent.pop("memobench.lpips paper") == begin_and_end + 3 * (60 + 1) + answers  # a frame of each phase
    for name in ("psnr", "ssim"):  # the two share one computation
        assert spent.pop(f"memobench.{name} paper") == begin_and_end + FRAMES / 2 + answers
    assert set(spent) == {"decode"} and 0 < spent["decode"] < 3 * 60


def given(clip, value):
    """What becomes of a metric's value, as item and as unit."""
    spec, context = asked("memobench.psnr", clip, "paper", {}, None)
    made = Scored([Item(value, raw=value, n_units=np.int64(1))], [Unit("u", "frame", value, frame=np.int64(3))])
    (result,) = score_clip([(replace(spec, score=lambda context: made), context)])
    return result.items[0], result.units[0]


@pytest.mark.parametrize("value", [np.float32(0.5), np.float64(0.5), np.array(0.5)])
def test_numbers_of_numpy_are_plain_numbers(clip, value):
    item, unit = given(clip, value)
    assert item == Item(0.5, raw=0.5, n_units=1) and unit == Unit("u", "frame", 0.5, frame=3)
    assert [type(each) for each in (item.value, item.raw, item.n_units, unit.frame)] == [float, float, int, int]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float32("-inf")])
def test_a_value_that_is_not_finite_is_the_reason_undefined(clip, value):
    for row in given(clip, value):
        assert (row.value, row.raw, row.reason, row.detail) == (None, None, "undefined", f"the metric gave {float(value)}")


def test_the_mean_counts_the_units_without_a_value_and_names_their_commonest_reason():
    reasons = ("cut", "no_mask", "no_mask")
    missing = [Unit(f"f{n}", "frame", reason=reason) for n, reason in enumerate(reasons)]
    assert mean_item([Unit("f9", "frame", 1.0), *missing]).detail == "3 of 4 units missing"
    assert mean_item(missing).reason == "no_mask"


def test_a_metric_that_returns_no_result_costs_only_itself(clip):
    spec, context = asked("memobench.psnr", clip, "paper", {}, None)
    (result,) = score_clip([(replace(spec, score=lambda context: None), context)])
    assert {item.reason for item in result.items} == {"backend_failed"}
