"""MIND's metrics at the stage: which frames each variant scores, what a run may limit, and what a missing model costs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import made_artifacts
import numpy as np
import pandas as pd
import pytest
from lookback import evaluate
from lookback.artifacts import Artifact, PoseTrack, TruePoseTrack
from lookback.backends.base import BackendOptions
from lookback.backends.pose.formats import read_poses
from lookback.backends.quality import Sharpness
from lookback.benchmarks.mind.writer import colmap_images
from lookback.camera import compile, preset
from lookback.clips import Clip
from lookback.errors import ContractError, NotScorable, Reason
from lookback.media import encode, probe
from lookback.registry import METRICS
from lookback.scoring.clip import score_clip
from lookback.scoring.contract import Scored, ScoringClip

NAMES = {"benchmark": "mind", "setting": "1st_data", "model_id": "m", "clip_id": "c", "scene": "s", "content_hash": "0" * 64}
FORWARD, REST = {"ws": 1, "ad": 0, "ud": 0, "lr": 0}, {"ws": 0, "ad": 0, "ud": 0, "lr": 0}


class Tokens:
    """Stands in for DINO: a few pixels are the features. It remembers how it was told to prepare the frames."""

    weights = ("dinov3-vitb16",)

    def __init__(self) -> None:
        self.shapings: list[Any] = []

    def tokens(self, frames, shaping):
        self.shapings.append(shaping)
        return frames[:, ::8, ::8].reshape(len(frames), -1, 3)


class Quality:
    """Stands in for MUSIQ: a hundred times the mean of the pixels it is given."""

    def __init__(self) -> None:
        self.sizes: set[tuple[int, ...]] = set()

    def require(self, *names):
        assert names == ("musiq",)

    def measure(self, frames, names):
        self.sizes.add(frames.shape[1:])
        return {"musiq": 100 * frames.mean(axis=(1, 2, 3))}


class Aesthetic:
    def scores(self, frames, head, antialias):
        assert (head, antialias) == ("linear", False)
        return 10 * frames.max(axis=(1, 2, 3))


def no_model(role: str) -> Any:
    raise NotScorable(Reason.BACKEND_UNAVAILABLE, f"no {role}")


def context(name: str, clip: Clip, variant: str, tool=no_model, artifacts=(), **constants: float) -> tuple[Any, ScoringClip]:
    spec, entries = METRICS.get(name), {artifact.role: artifact.pack() for artifact in artifacts}
    settings = spec.preset(variant, constants)
    return spec, ScoringClip(clip, variant, constants, pd.DataFrame(), entries.__getitem__, tool, {}, settings=settings)


def scored(name: str, clip: Clip, variant: str = "corrected", tool=no_model, artifacts=(), **constants: float) -> Scored:
    return score_clip([context(name, clip, variant, tool, artifacts, **constants)])[0]


def video_clip(folder: Path, frames: np.ndarray, truth: np.ndarray | None = None, **facts: Any) -> Clip:
    encode(folder / "video.mp4", frames, 16)
    count, height, width = frames.shape[:3]
    facts = {"n_frames": count, "fps": 16.0, "width": width, "height": height, "subset": "mem_test", **facts}
    if truth is not None:
        encode(folder / "truth.mp4", truth, 16)
        facts = {"ground_truth": str(folder / "truth.mp4"), "gt_frames": len(truth), "mark_time": 0, **facts}
    return Clip(**NAMES, **facts, video=str(folder / "video.mp4"))


def noise(count: int, height: int = 32, width: int = 48) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 255, (count, height, width, 3), np.uint8)


@pytest.mark.parametrize("name", ["mind.lcm", "mind.dino"])
def test_variants_of_one_clip_keep_their_own_frames(tmp_path, name):
    """130 frames: corrected scores all of them, official the first 100, also when both are scored at once."""
    frames = noise(130)
    clip = video_clip(tmp_path, frames, np.roll(frames, 3, axis=2))
    tool = lambda role: Tokens()  # noqa: E731
    metrics = [context(name, clip, variant, tool, lpips=0, height=36, width=64) for variant in ("corrected", "official")]
    together, alone = score_clip(metrics), [score_clip([metric])[0] for metric in metrics]
    assert together == alone
    counted = [{unit.frame for unit in result.units} for result in together]
    assert counted == [set(range(130)), set(range(100))]
    assert together[0].items[0].value != together[1].items[0].value


def test_dino_is_told_to_squeeze_the_frame_and_official_to_rescale_twice(tmp_path):
    frames = noise(101)
    clip, told = video_clip(tmp_path, frames, frames[::-1]), {}
    for variant in ("corrected", "official"):
        model = Tokens()
        scored("mind.dino", clip, variant, lambda role, model=model: model, dino_every=50, height=36, width=64)
        (told[variant],) = set(model.shapings)
    assert (told["official"].resize, told["official"].crop, told["official"].interpolation) == (0, 224, "bilinear")
    assert (told["official"].rescale_twice, told["corrected"].rescale_twice) == (True, False)


def test_dino_says_when_another_network_stands_in(tmp_path):
    class Other(Tokens):
        weights = ("efficientnet-lite0",)

    clip = video_clip(tmp_path, noise(3), noise(3))
    (item,) = scored("mind.dino", clip, tool=lambda role: Other()).items
    assert item.detail == "efficientnet-lite0 in place of dinov3-vitb16"


def test_identical_frames_are_left_out_or_make_the_official_mean_infinite(tmp_path):
    half = np.stack([np.full((32, 48, 3), level, np.uint8) for level in (20, 90, 160)])
    back = np.stack([half[2], half[1], np.full((32, 48, 3), 60, np.uint8)])
    clip = video_clip(tmp_path, np.concatenate([half, back]), subset="mirror_test")
    psnr = {}
    for variant in ("corrected", "official"):
        items = scored("mind.gsc", clip, variant, lpips=0, height=36, width=64).items
        psnr[variant] = next(item for item in items if item.phase == "psnr")
    assert psnr["corrected"].value is not None and psnr["corrected"].detail == "2 identical frames left out; frames of 64x36 px"
    assert (psnr["official"].value, psnr["official"].reason) == (None, Reason.UNDEFINED)


def test_video_max_time_limits_every_metric_but_official_gsc(tmp_path):
    """The README: "max frames of the sample video to compute metrics (except action accuracy)"; mirror videos are read whole."""
    mirror = video_clip(tmp_path, noise(20), subset="mirror_test")
    small = {"lpips": 0, "height": 36, "width": 64, "video_max_time": 4}
    counted = {
        variant: len({unit.frame for unit in scored("mind.gsc", mirror, variant, **small).units})
        for variant in ("corrected", "official")
    }
    assert counted == {"corrected": 4, "official": 10}
    frames = noise(20)
    clip = video_clip(tmp_path, frames, frames)
    assert {unit.frame for unit in scored("mind.lcm", clip, **small).units} == set(range(4))
    models = {"quality": Quality(), "aesthetic": Aesthetic()}
    assert [item.n_units for item in scored("mind.visual", clip, tool=models.get, video_max_time=4).items] == [4, 4]


def test_visual_scores_every_frame_at_720_x_1280(tmp_path):
    frames = np.repeat(np.arange(0, 120, 40, dtype=np.uint8), 36 * 64 * 3).reshape(3, 36, 64, 3)
    clip, quality = video_clip(tmp_path, frames), Quality()
    result = scored("mind.visual", clip, tool={"quality": quality, "aesthetic": Aesthetic()}.get)
    assert quality.sizes == {(720, 1280, 3)}
    assert {item.phase: item.detail for item in result.items} == dict.fromkeys(("imaging", "aesthetic"), "3 of 3 frames")
    imaging = [unit.value for unit in result.units if unit.phase == "imaging"]
    assert imaging == pytest.approx([0.0, 40 / 255, 80 / 255], abs=0.01)


def test_official_visual_scores_the_frames_that_lcm_scores(tmp_path):
    models = {"quality": Quality(), "aesthetic": Aesthetic()}
    frames = noise(130, 9, 16)
    result = scored("mind.visual", video_clip(tmp_path, frames, frames), "official", models.get, height=18, width=32)
    assert [item.n_units for item in result.items] == [100, 100]
    alone = scored("mind.visual", video_clip(tmp_path, frames), "official", models.get).items
    assert {item.phase: item.reason for item in alone} == dict.fromkeys(["imaging", "aesthetic"], Reason.MISSING_INPUT)


def test_a_missing_model_costs_only_its_own_measure(tmp_path):
    clip = video_clip(tmp_path, noise(3))
    tools = {"quality": Sharpness(BackendOptions()), "aesthetic": Aesthetic()}
    items = {item.phase: item for item in scored("mind.visual", clip, tool=tools.get).items}
    assert (
        items["imaging"].reason == Reason.BACKEND_UNAVAILABLE
        and "musiq need pyiqa; run: lookback models install pyiqa" in items["imaging"].detail
    )
    assert items["aesthetic"].value is not None
    both = scored("mind.visual", Clip(**NAMES, n_frames=3, video="nowhere.mp4")).items  # no decode without a model
    assert [(item.phase, item.reason) for item in both] == [
        ("imaging", "backend_unavailable"),
        ("aesthetic", "backend_unavailable"),
    ]


ROWS = ("c2w", "intrinsics", "confidence", "has_translation", "frame_index")


# -- action ---------------------------------------------------------------------------------------------------------------------
def walk(frames: int) -> PoseTrack:
    path = made_artifacts.poses(compile(preset("yaw_LR", frames)))
    path.c2w[:, 2, 3] = np.linspace(0, 3, frames)
    return path


def as_truth(path: PoseTrack, start: int = 0) -> TruePoseTrack:
    return replace(TruePoseTrack.unpack(path.pack()), frame_index=start + np.arange(len(path.frame_index)))


def acting(folder: Path, total: int, mark: int = 0, rows: list[dict[str, int]] | None = None) -> Clip:
    (folder / "action.json").write_text(json.dumps({"data": rows if rows is not None else [FORWARD] * total}))
    facts = {"n_frames": total - mark, "gt_frames": total, "mark_time": mark, "subset": "mem_test"}
    return Clip(**NAMES, **facts, video="video.mp4", gt_poses="poses.txt", actions=str(folder / "action.json"))


def action(clip: Clip, artifacts: list[Artifact], variant: str = "corrected", **constants: float) -> Scored:
    return scored("mind.action", clip, variant, artifacts=artifacts, **constants)


def counts(result: Scored) -> dict[str, int]:
    return {item.phase.removesuffix(":rot"): item.n_units for item in result.items if item.phase.endswith(":rot")}


def test_too_few_actions_are_a_length_mismatch(tmp_path):
    path = walk(40)
    enough = acting(tmp_path, 40, rows=[FORWARD] * 39)
    assert counts(action(enough, [path, as_truth(path)]))["__overall__"] == 39  # a step has one action, the last frame needs none
    items = action(acting(tmp_path, 40, rows=[FORWARD] * 38), [path, as_truth(path)]).items
    assert [item.phase for item in items] == ["__overall__:trans", "__overall__:rot"]  # the rows that every clip has
    assert {(item.reason, item.detail) for item in items} == {(Reason.LENGTH_MISMATCH, "38 actions for 39 steps from mark_time on")}


def test_the_released_poses_begin_at_mark_time(tmp_path):
    """97 poses for 200 frames after mark_time. A camera that keeps moving must not be compared with one that stands still."""
    path = walk(200)
    kept = as_truth(replace(path, **{name: getattr(path, name)[:97] for name in ROWS}), start=30)
    for variant in ("corrected", "official"):
        result = action(acting(tmp_path, 230, 30), [path, kept], variant)
        assert counts(result)["__overall__"] == 96
        assert all(item.value == pytest.approx(0.0, abs=1e-5) for item in result.items)


def test_official_stops_at_97_frames_and_ignores_video_max_time(tmp_path):
    path = walk(150)
    clip, artifacts = acting(tmp_path, 150), [path, as_truth(path)]
    assert counts(action(clip, artifacts, "official", video_max_time=10))["__overall__"] == 96
    assert counts(action(clip, artifacts, video_max_time=10))["__overall__"] == 149


def test_resting_frames_are_no_op_and_officially_in_other(tmp_path):
    path = walk(40)
    clip = acting(tmp_path, 40, rows=[FORWARD] * 20 + [REST] * 20)
    official = counts(action(clip, [path, as_truth(path)], "official"))
    assert official == {"__overall__": 39, "translation": 20, "other": 19, "act:forward": 20, "act:no_op": 19}
    corrected = counts(action(clip, [path, as_truth(path)]))
    assert "other" not in corrected and corrected["act:no_op"] == 19


def test_official_takes_a_readme_file_for_its_own_convention(tmp_path):
    """The README's 1 means backward; the released code reads it as forward, and stops where an axis is absent."""
    path = walk(40)
    backward = acting(tmp_path, 40, rows=[{"ws": 1, "ad": 0, "ud": 0, "lr": 0}] * 40).model_copy(
        update={"extras": {"action_convention": "readme"}}
    )
    assert "act:forward" in counts(action(backward, [path, as_truth(path)], "official"))
    assert "act:backward+left+look_up+look_left" in counts(action(backward, [path, as_truth(path)]))
    item, _ = action(acting(tmp_path, 40, rows=[{"ws": 1}] * 40), [path, as_truth(path)], "official").items
    assert item.reason == Reason.INVALID_INPUT and "has no 'ad'" in item.detail


def test_rows_outside_the_scored_frames_do_not_matter_to_official(tmp_path):
    """The released program reads the rows from mark_time on, 97 at most."""
    path, broken = walk(120), {"ws": 1}
    rows = [FORWARD] * 150
    rows[29] = rows[127] = broken
    clip = acting(tmp_path, 150, 30, rows)
    assert counts(action(clip, [path, as_truth(path, start=30)], "official"))["__overall__"] == 96
    rows[126] = broken
    item, _ = action(acting(tmp_path, 150, 30, rows), [path, as_truth(path, start=30)], "official").items
    assert item.reason == Reason.INVALID_INPUT


def test_poses_that_begin_after_mark_time_are_refused(tmp_path):
    path = walk(40)
    item, _ = action(acting(tmp_path, 40), [path, as_truth(path, start=5)]).items
    assert (item.reason, "begin at frame 5, after mark_time 0" in item.detail) == (Reason.INVALID_INPUT, True)


def test_the_actions_are_read_once(tmp_path, monkeypatch):
    from lookback.benchmarks.mind.metrics import action as module

    path, clip, read, loads = walk(40), acting(tmp_path, 40), [], json.loads
    monkeypatch.setattr(module.json, "loads", lambda text: read.append(1) or loads(text))
    assert action(clip, [path, as_truth(path)]).items
    assert len(read) == 1


def test_a_pose_file_may_begin_at_a_later_frame(tmp_path):
    encode(tmp_path / "truth.mp4", noise(20), 16)
    info, poses = probe(tmp_path / "truth.mp4"), compile(preset("yaw_LR", 20))
    (tmp_path / "images.txt").write_text(colmap_images(poses[8:]))
    found = read_poses(tmp_path / "images.txt", "colmap@8", info)
    assert found.frame_index.tolist() == list(range(8, 20))
    np.testing.assert_allclose(found.c2w, poses[8:], atol=1e-9)
    (tmp_path / "images.txt").write_text(colmap_images(poses))
    with pytest.raises(ContractError, match="has 20 poses, but only 12 frames follow frame 8"):
        read_poses(tmp_path / "images.txt", "colmap@8", info)
    with pytest.raises(ContractError, match="'colmap@x' is not known"):
        read_poses(tmp_path / "images.txt", "colmap@x", info)


def test_a_clip_that_cannot_be_scored_counts_in_every_row_of_the_table(tmp_path):
    """A mirror video of 5 frames has no halves: each of the four measures must say 2 of 3."""
    for number, length in enumerate((2, 2, 5)):
        encode(tmp_path / f"m/1st_data/mirror_test/s{number}/path-1.mp4", noise(length, 36, 64), 24)
    found = evaluate(tmp_path, benchmark="mind", metrics=["mind.gsc"])
    rows = found.scores.set_index("phase")
    assert sorted(rows.index) == ["lpips", "mse", "psnr", "ssim"]
    assert set(zip(rows["n"], rows["n_items"], rows["reasons"], strict=True)) == {(2, 3, '{"invalid_input": 1}')}
