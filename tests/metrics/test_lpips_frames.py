"""How many frames LPIPS looks at: what a run decides, what the score says, and that a sampled score never passes as a whole one."""

import numpy as np
import pandas as pd
import pytest
from lookback.clips import Clip
from lookback.errors import LookbackError
from lookback.media import encode
from lookback.params.load import validate
from lookback.registry import METRICS
from lookback.scoring.clip import score_clip
from lookback.scoring.contract import ScoringClip
from lookback.scoring.run import ScoringTask, _identity, run_constants
from lookback.scoring.sampling import sampled_words

FRAMES, HEIGHT, WIDTH = 32, 32, 48


def parameters(device: str = "cpu", **scoring):
    return validate({"run": "lpips", "device": device, "scoring": scoring}, "test")


@pytest.mark.parametrize(
    ("device", "scoring", "frames"),
    [
        ("cpu", {}, 16),
        ("cuda", {}, 0),
        ("cpu", {"variant": "official"}, 0),  # the released program takes all frames
        ("cpu", {"variant": "official", "lpips_frames": 5}, 5),
        ("cpu", {"lpips_frames": "all"}, 0),
        ("cpu", {"lpips_frames": 5}, 5),
        ("cuda", {"lpips_frames": 5}, 5),
        ("cpu", {"constants": {"lpips_every": 3}}, 0),  # a constant that the run names wins
        ("cpu", {"constants": {"lpips_frames": 4}}, 4),
    ],
)
def test_the_run_decides_how_many_frames(device, scoring, frames):
    assert run_constants(parameters(device, **scoring)).get("lpips_frames", 0) == frames


@pytest.mark.parametrize("wrong", [0, -1, "some"])
def test_a_number_of_frames_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(LookbackError, match="lpips_frames"):
        parameters(lpips_frames=wrong)


class Counting:
    """Stands in for the network, and counts the pairs."""

    def __init__(self):
        self.pairs = 0

    def distance(self, a, b, net):
        self.pairs += len(a)
        return np.full(len(a), 0.25)


@pytest.fixture(scope="module")
def clip(tmp_path_factory) -> Clip:
    folder = tmp_path_factory.mktemp("lpips")
    video = np.random.default_rng(0).integers(0, 255, (FRAMES, HEIGHT, WIDTH, 3), np.uint8)
    for name in ("video", "truth"):
        encode(folder / f"{name}.mp4", video, 16)
    names = {"benchmark": "memobench", "setting": "real", "model_id": "m", "clip_id": "c", "scene": "s", "content_hash": "0" * 64}
    facts = {"n_frames": FRAMES, "fps": 16.0, "width": WIDTH, "height": HEIGHT, "gt_frames": FRAMES, "d_start": 10, "r_start": 20}
    return Clip(**names, **facts, video=str(folder / "video.mp4"), ground_truth=str(folder / "truth.mp4"))


def lpips(clip: Clip, constants):
    spec, network = METRICS.get("memobench.lpips"), Counting()
    given = (pd.DataFrame(), lambda role: None, lambda role: network)
    context = ScoringClip(clip, "official", constants, *given, settings=spec.preset("official", constants))
    return score_clip([(spec, context)])[0].items[-1], network.pairs


def test_a_sampled_score_says_so_and_one_of_all_frames_does_not(clip):
    whole, sampled = lpips(clip, {}), lpips(clip, {"lpips_frames": 16})
    assert whole[1] == FRAMES and whole[0].detail == "" and whole[0].n_units == FRAMES
    assert sampled[1] == 16 and sampled[0].detail == "every 2nd frame" and sampled[0].n_units == 16
    assert lpips(clip, {"lpips_frames": 100})[0] == whole[0]  # more frames than the clip has


def test_words():
    assert [sampled_words(every) for every in (1, 2, 3, 6, 11, 21)] == [
        "", "every 2nd frame", "every 3rd frame", "every 6th frame", "every 11th frame", "every 21st frame",
    ]  # fmt: skip


def test_a_sampled_score_has_an_identity_of_its_own_and_names_it_in_the_tables_notes(clip):
    def identity(name, **scoring):
        return _identity(METRICS.get(name), "official", ScoringTask(clip, (), (), (), parameters(**scoring)))[0]

    sampled, whole = identity("memobench.lpips"), identity("memobench.lpips", lpips_frames="all")
    assert sampled.params_hash != whole.params_hash
    assert "lpips_frames=16" in sampled.weights and "lpips_frames" not in whole.weights
    assert identity("memobench.psnr") == identity("memobench.psnr", lpips_frames="all")  # the others are not scored again


def test_mind_says_it_of_lpips_alone(clip):
    from lookback.benchmarks.mind.metrics.fidelity import scored_measures

    frames = {0: {"mse": 0.1, "psnr": 10.0, "ssim": 0.5, "lpips": 0.3}, 1: {"mse": 0.1, "psnr": 10.0, "ssim": 0.5}}
    items = {item.phase: item for item in scored_measures(frames, {}, True, "every 2nd frame").items}
    assert items["lpips"].detail == "every 2nd frame" and items["lpips"].n_units == 1
    assert items["psnr"].detail == "" and items["psnr"].n_units == 2
    smaller = {
        item.phase: item.detail for item in scored_measures(frames, {}, True, "every 2nd frame", "frames of 320x192 px").items
    }
    assert smaller["lpips"] == "every 2nd frame; frames of 320x192 px" and smaller["ssim"] == "frames of 320x192 px"
