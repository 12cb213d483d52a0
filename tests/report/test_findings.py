"""What the first page says was found, and what the page of failures says was looked for."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest
from lookback.clips import Clip
from lookback.report.behind import Worst
from lookback.report.findings import _failures, _weakest
from lookback.report.stage_tables import judged_failures

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
