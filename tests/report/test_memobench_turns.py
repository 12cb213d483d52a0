"""MemoBench tables S5 and S8: how far the true camera has turned, from its first frame to its last."""

from __future__ import annotations

import json

import made_artifacts
import numpy as np
import pandas as pd
import pytest
from lookback.backends.pose.track import with_facts
from lookback.benchmarks.memobench.report import camera_errors, remarks, strong_motion
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.clips import KEYS
from lookback.params import RunParams
from lookback.report.paper import PaperData

AWAY = np.linspace(0, 120, 9)
TURNS = {"u_turn": 1.5 * AWAY, "quarter": 0.75 * AWAY, "there_and_back": np.r_[AWAY, AWAY[::-1]]}  # net 180, 90 and 0 degrees


def run(*clips: str) -> PaperData:
    """A run of one model whose clips have these true camera paths."""
    rows, items = [], []
    for clip in clips:
        key = dict(zip(KEYS, ("memobench", "synthetic", "m", clip), strict=True))
        facts = with_facts(made_artifacts.poses(from_yaw_pitch_roll(TURNS[clip]))).facts
        rows.append({**key, "role": "gt_pose", "stored": "x", "summary": json.dumps(facts)})
        score = {"metric": "memobench.camera_controllability", "phase": "", "value": 0.5, "raw": 20.0, "reason": "", "scene": clip}
        items.append({**key, **score, "variant": "official", "backend": "pose=files"})
    return PaperData(RunParams(run="x"), pd.DataFrame(items), {"artifacts": pd.DataFrame(rows)})


def test_s5_keeps_the_clips_whose_true_camera_ends_at_least_90_degrees_away():
    (table,) = strong_motion(run(*TURNS))
    assert table.frame["n"].tolist() == [2] and "first frame to the last" in " ".join(table.notes)


def test_s5_is_absent_with_a_remark_where_every_camera_comes_back():
    assert strong_motion(run("there_and_back")) == []
    assert any(remark.startswith("S5:") for remark in remarks({}))


def test_s8_prints_the_turn_from_the_first_frame_to_the_last():
    data = run(*TURNS)
    (table,) = camera_errors(data.items, data.tables["artifacts"])
    assert table.frame["GT rotation (deg)"].tolist() == [pytest.approx(90.0)]  # the mean of 180, 90 and 0
    assert "first frame to the last" in " ".join(table.notes)


def test_s8_marks_no_model_of_one_clip_as_best():
    data = run(*TURNS)
    rivals = [data.items.iloc[:1].assign(model_id="lucky", raw=1.0), data.items.assign(model_id="worse", raw=30.0)]
    items = pd.concat([data.items, *rivals], ignore_index=True)
    (table,) = camera_errors(items, data.tables["artifacts"])
    best = dict(zip(table.frame["model"], table.marks["ATE rot. mean (deg)"], strict=True))
    assert table.frame["model"].tolist() == ["lucky", "m", "worse"] and best["lucky"] == ""
