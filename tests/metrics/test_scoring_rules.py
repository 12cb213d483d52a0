"""Rules of single metrics at the stage: lengths that must agree, limits that a run sets, variants that differ."""

from collections.abc import Sequence

import made_artifacts
import numpy as np
import pandas as pd
import pytest
from lookback.artifacts import Artifact, PoseTrack
from lookback.artifacts.poses import MAPPED
from lookback.benchmarks.mbench.metrics.shared import paired_frames
from lookback.camera import compile, preset
from lookback.clips import Clip
from lookback.errors import Reason
from lookback.registry import METRICS
from lookback.scoring.clip import score_clip
from lookback.scoring.contract import ScoringClip


def clip(benchmark: str, **facts) -> Clip:
    names = {"benchmark": benchmark, "setting": "s", "model_id": "m", "clip_id": "c", "scene": "s", "content_hash": "0" * 64}
    return Clip(**(names | {"video": "video.mp4", "fps": 16.0, "width": 64, "height": 48} | facts))


def scored(name: str, clip: Clip, artifacts: Sequence[Artifact] = (), variant: str = "paper", **constants):
    entries = {artifact.role: artifact.pack() for artifact in artifacts}
    settings = METRICS.get(name).preset(variant, constants)
    context = ScoringClip(clip, variant, constants, pd.DataFrame(), entries.__getitem__, lambda role: None, {}, settings=settings)
    return score_clip([(METRICS.get(name), context)])[0]


def path_of(frames: int) -> PoseTrack:
    return made_artifacts.poses(compile(preset("yaw_LR", frames)))


def test_cam_prec_refuses_a_trajectory_of_another_length(tmp_path):
    np.save(tmp_path / "target.npy", compile(preset("yaw_LR", 81)))
    facts = {"camera": "yaw_LR", "target_poses": str(tmp_path / "target.npy"), "condition_type": "source-video"}
    (short,) = scored("wrbench.cam_prec", clip("wrbench", n_frames=49, **facts), [path_of(49)]).items
    assert (short.value, short.reason) == (None, Reason.LENGTH_MISMATCH)
    (equal,) = scored("wrbench.cam_prec", clip("wrbench", n_frames=81, **facts), [path_of(81)]).items
    assert equal.value == pytest.approx(1.0)


def test_units_say_where_poses_stand_for_fewer_frames():
    poses = compile(preset("yaw_LR", 21))
    notes = (f"21 poses for 81 frames: {MAPPED} 0, 4, 8 ... 80", "focal length assumed")
    entry = made_artifacts.poses(poses, frame_index=np.arange(0, 81, 4), notes=notes).pack()
    given = (clip("mbench", setting="A"), "paper", {}, pd.DataFrame(), lambda role: entry, lambda role: None, {})
    context = ScoringClip(*given, settings=METRICS.get("mbencha.environment.spatial_epipolar").preset("paper", {}))
    assert paired_frames(context).note.endswith("21 poses for 81 frames: read as frames 0, 4, 8 ... 80")
