"""What the first page says was found, and what the page of failures says was looked for."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from lookback.clips import Clip
from lookback.report.behind import Worst
from lookback.report.build import ReportBuilder
from lookback.report.findings import _contrasts, _failures, _unit, _weakest
from lookback.report.leaderboard import leaderboard
from lookback.report.stage_tables import judged_failures, without_truth

NAMES = {"benchmark": "folder", "setting": "", "scene": "s", "video": "v.mp4", "n_frames": 20}
CLIPS = {clip.key: clip for clip in (Clip(**NAMES, model_id=model, clip_id="c") for model in "ab")}


def failure(model: str, label: str, confidence: float) -> dict[str, object]:
    keys = dict(zip(["benchmark", "setting", "model_id", "clip_id"], ("folder", "", model, "c"), strict=True))
    return {**keys, "label": label, "confidence": confidence, "frame_start": 4, "frame_end": 8, "evidence": "detail 0.3"}


def test_a_failure_is_headlined_with_its_probability_and_only_where_it_is_likely():
    rows = [failure("a", "style_shift", 0.13), failure("a", "geometric_melt", 0.3), failure("b", "geometric_melt", 0.71)]
    told = [finding.sentence for finding in _failures(pd.DataFrame(rows), CLIPS)]
    assert told == ["Geometric melt: found in 2 of 2 clips, of 2 models. Surest in b (probability 0.71): detail 0.3."]
    (alone,) = _failures(pd.DataFrame(rows[2:]), CLIPS)
    assert "found in 1 of 2 clips, of 1 model." in alone.sentence


@pytest.mark.parametrize(
    ("metric", "value", "mean", "weak"),
    [
        ("folder.steady_light", 0.5, 0.9, True),
        ("folder.steady_light", 1.0, 1.0, False),
        ("folder.cuts", 2.0, 1.0, True),
        ("folder.camera_turn", 0.0, 40.0, False),
    ],
)
def test_a_weakness_is_worse_than_the_mean(metric: str, value: float, mean: float, weak: bool):
    worst = Worst(("folder", "", "a", "c"), value, 3, mean, 2)
    found = list(_weakest(SimpleNamespace(worst={("folder", "a", metric, ""): worst}), CLIPS))
    assert bool(found) == weak


def test_the_page_says_what_was_judged_in_how_many_clips(tmp_path):
    assert judged_failures(tmp_path, 3).empty
    rules = pd.DataFrame({"failure": ["Camera drift", "Style shift"], "label": ["camera_drift", "style_shift"]})
    silent = pd.DataFrame({"label": ["camera_drift"] * 3, "reason": ["missing_input", "missing_input", "unproven"]})
    for name, table in (("rules", rules), ("abstentions", silent)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    assert judged_failures(tmp_path, 3).to_dict("records") == [
        {"failure": "Style shift", "clips judged": 3, "not judged because": ""},
        {"failure": "Camera drift", "clips judged": 0, "not judged because": "missing_input 2, unproven 1"},
    ]


def compared(values: dict[str, tuple[float, float]]) -> list[str]:
    """What is said of the gap between models with these values of two tasks."""
    keys = {"benchmark": "memobench", "setting": "real", "metric": "memobench.psnr", "phase": "", "reason": ""}
    rows = [
        {**keys, "model_id": model, "clip_id": f"t{task}", "scene": f"s{task}", "value": value}
        for model, own in values.items()
        for task, value in enumerate(own)
    ]
    items = pd.DataFrame(rows)
    clips = [
        Clip(**NAMES | {"benchmark": "memobench", "setting": "real"}, model_id=r["model_id"], clip_id=r["clip_id"]) for r in rows
    ]
    board = leaderboard("memobench", "MemoBench", items, ["memobench.psnr"], resamples=100)
    behind = SimpleNamespace(items=items, frames={})
    return [finding.sentence for finding in _contrasts([board], behind, {clip.key: clip for clip in clips})]


def test_no_model_is_last_where_all_share_the_first_place():
    assert compared({"a": (16.3, 10.0), "b": (15.0, 12.0)}) == []
    (told,) = compared({"a": (16.3, 13.0), "b": (15.0, 12.0)})
    assert "The widest gap to b, the last, is memobench.psnr (dB) on t0: 16.3 against 15." in told
    assert [_unit(name) for name in ("wrbench.visual_integrity", "mind.lcm", "unknown.metric")] == [""] * 3, "no unit, or several"


def test_tasks_without_ground_truth_are_counted_where_a_metric_needs_it():
    keys = {"setting": "real", "model_id": ["a", "b", "a"], "clip_id": ["t0", "t0", "t1"], "ground_truth": [None, None, "t1.mp4"]}
    clips = pd.concat([pd.DataFrame({"benchmark": name, **keys}) for name in ("memobench", "folder")])
    items = pd.DataFrame({"benchmark": ["memobench", "folder"], "metric": ["memobench.psnr", "folder.cuts"]})
    assert without_truth(clips, items) == 1 and without_truth(clips, items[1:]) == 0


def test_the_first_page_counts_rejected_clips_and_tasks_without_ground_truth():
    clips = pd.DataFrame({"benchmark": "memobench", "setting": "real", "model_id": ["a"], "clip_id": "t0", "ground_truth": None})
    gated = pd.DataFrame({"benchmark": ["memobench"], "metric": "memobench.psnr", "value": np.nan})
    rejected = pd.DataFrame({"path": ["x.mp4", "x.mp4", "data"], "field": ["video", "video", "ground_truth"]})
    whole = {"clips": clips, "gated": gated, "rejected": rejected, "judgements": [], "ratings": []}
    shown = ReportBuilder.facts(SimpleNamespace(tables=whole))
    assert "<b>1</b>clips rejected<" in shown and "<b>1</b>tasks without the ground truth that a metric needs<" in shown
    given = whole | {"clips": clips.assign(ground_truth="t0.mp4"), "rejected": rejected[:0]}
    shown = ReportBuilder.facts(SimpleNamespace(tables=given))
    assert "rejected" not in shown and "without the ground truth" not in shown
