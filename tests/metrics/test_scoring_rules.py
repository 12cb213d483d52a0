"""Rules of single metrics at the stage: lengths that must agree, limits that a run sets, variants that differ."""

import json
from collections.abc import Sequence

import made_artifacts
import numpy as np
import pandas as pd
import pytest
from lookback.artifacts import Artifact, PoseTrack, Quality, Rewards, TruePoseTrack
from lookback.artifacts.poses import MAPPED
from lookback.benchmarks.mbench.metrics.shared import paired_frames
from lookback.camera import compile, preset
from lookback.clips import Clip
from lookback.errors import Reason
from lookback.media import encode
from lookback.registry import METRICS
from lookback.scoring.clip import score_clip
from lookback.scoring.contract import ScoringClip


def clip(benchmark: str, **facts) -> Clip:
    names = {"benchmark": benchmark, "setting": "s", "model_id": "m", "clip_id": "c", "scene": "s", "content_hash": "0" * 64}
    return Clip(**(names | {"video": "video.mp4", "fps": 16.0, "width": 64, "height": 48} | facts))


def scored(name: str, clip: Clip, artifacts: Sequence[Artifact] = (), variant: str = "paper", **constants):
    entries = {artifact.role: artifact.pack() for artifact in artifacts}
    spec = METRICS.get(name)
    given = (clip, variant, constants, pd.DataFrame(), entries.__getitem__, lambda role: None, {})
    return score_clip([(spec, ScoringClip(*given, settings=spec.preset(variant, constants)))])[0]


def path_of(frames: int) -> PoseTrack:
    return made_artifacts.poses(compile(preset("yaw_LR", frames)))


def test_cam_prec_refuses_a_trajectory_of_another_length(tmp_path):
    np.save(tmp_path / "target.npy", compile(preset("yaw_LR", 81)))
    facts = {"camera": "yaw_LR", "target_poses": str(tmp_path / "target.npy"), "condition_type": "source-video"}
    (short,) = scored("wrbench.cam_prec", clip("wrbench", n_frames=49, **facts), [path_of(49)]).items
    assert (short.value, short.reason) == (None, Reason.LENGTH_MISMATCH)
    (equal,) = scored("wrbench.cam_prec", clip("wrbench", n_frames=81, **facts), [path_of(81)]).items
    assert equal.value == pytest.approx(1.0)


@pytest.fixture
def mind(tmp_path):
    """A MIND clip of 40 frames with as many actions as asked for."""

    def make(actions: int) -> tuple[Clip, list[Artifact]]:
        row = {"ws": 1, "ad": 0, "ud": 0, "lr": 0}
        (tmp_path / "action.json").write_text(json.dumps({"data": [row] * actions}))
        facts = {"n_frames": 40, "gt_frames": 40, "mark_time": 0, "subset": "mem_test", "actions": str(tmp_path / "action.json")}
        walk = path_of(40)
        walk.c2w[:, 2, 3] = np.linspace(0, 3, 40)
        truth = TruePoseTrack.unpack(walk.pack())
        return clip("mind", setting="1st_data", gt_poses="poses.txt", **facts), [walk, truth]

    return make


def test_too_few_actions_are_a_length_mismatch(mind):
    (item,) = scored("mind.action", *mind(39), variant="corrected").items
    assert (item.reason, item.detail) == (Reason.LENGTH_MISMATCH, "39 actions for 40 frames of the ground truth")


def test_the_actions_are_read_once(mind, monkeypatch):
    from lookback.benchmarks.mind.metrics import action

    read, loads = [], json.loads
    monkeypatch.setattr(action.json, "loads", lambda text: read.append(1) or loads(text))
    assert scored("mind.action", *mind(40), variant="corrected").items
    assert len(read) == 1


def test_video_max_time_limits_every_metric_but_action_accuracy(mind, tmp_path):
    """MIND's README: "max frames of the sample video to compute metrics (except action accuracy)"."""
    known, artifacts = mind(40)
    assert len(scored("mind.action", known, artifacts, "corrected", video_max_time=10).units) == 39
    quality = Quality(frame_index=np.arange(0, 40, 4), musiq=np.linspace(10, 100, 10), aesthetic=np.full(10, 5.0))
    seen = scored("mind.visual", known, [quality], "corrected", video_max_time=10)
    assert [item.detail for item in seen.items] == ["3 of 40 frames"] * 2
    assert seen.items[0].value == pytest.approx(np.linspace(10, 100, 10)[:3].mean() / 100)
    encode(tmp_path / "video.mp4", np.random.default_rng(0).integers(0, 255, (20, 48, 64, 3), np.uint8), 16)
    mirror = clip("mind", setting="1st_data", subset="mirror_test", n_frames=20, video=str(tmp_path / "video.mp4"))
    pairs = scored("mind.gsc", mirror, [], "corrected", video_max_time=4, lpips=0).units
    assert {unit.frame for unit in pairs} == {0, 1, 2, 3}


def test_official_image_reward_looks_at_five_frames():
    artifacts = [Rewards(frame_index=np.arange(24), image_reward=np.linspace(-2, 2, 24))]
    known = clip("memobench", n_frames=24, prompt="a cup")
    paper, official = (scored("memobench.image_reward", known, artifacts, variant) for variant in ("paper", "official"))
    assert [unit.frame for unit in official.units] == [0, 6, 12, 17, 23]
    assert len(paper.units) == 24


def test_units_say_where_poses_stand_for_fewer_frames():
    poses = compile(preset("yaw_LR", 21))
    notes = (f"21 poses for 81 frames: {MAPPED} from the first to the last frame", "focal length assumed")
    entry = made_artifacts.poses(poses, frame_index=np.arange(0, 81, 4), notes=notes).pack()
    given = (clip("mbench", setting="A"), "paper", {}, pd.DataFrame(), lambda role: entry, lambda role: None, {})
    context = ScoringClip(*given, settings=METRICS.get("mbencha.environment.spatial_epipolar").preset("paper", {}))
    assert paired_frames(context).note.endswith("21 poses for 81 frames: mapped linearly from the first to the last frame")
