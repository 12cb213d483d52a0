"""Preference pairs after WRBench appendix H: every rule on clips whose outcome follows from the written rules by hand."""

import json

import pandas as pd
import pytest
from lookback.benchmarks.wrbench.preferences import DIMENSIONS, RULES
from lookback.clips import KEYS, Clip, clips_to_frame
from lookback.errors import ContractError
from lookback.exports import export
from lookback.params import RunParams
from lookback.tables import write_table

PROVENANCE = {"backend": "b", "version": "1", "weights": "", "params_hash": "p", "input_hash": "i"}
GOOD = {"cam_prec": 0.9, "cam_align": 0.9, "visual_integrity": 0.8, "visible_spatial": 0.8, "visible_state": 0.8, "support": 1.0}
GOOD |= {"reobserved_spatial": 0.7, "reobserved_state": 0.7}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Writes a WRBench run from {model: {metric: value or reason}} and exports it; returns (pairs by dimension, summary)."""
    monkeypatch.setenv("LOOKBACK_ROOT", str(tmp_path))
    (tmp_path / "params").mkdir()
    (tmp_path / "notebooks").mkdir()

    def exported(models, inactive=(), absent=(), camera="yaw_LR", folder="pairs"):
        params = RunParams(run="trial")
        clips, items, judgements = [], [], []
        for model, values in models.items():
            video = tmp_path / f"{model}.mp4"
            if model not in absent:
                video.write_bytes(b"video")
            clip = Clip(
                benchmark="wrbench", setting="demo", model_id=model, clip_id="c1", scene="s", camera=camera, video=f"{model}.mp4"
            )
            clips.append(clip)
            keys = dict(zip(KEYS, clip.key, strict=True))
            for metric, value in values.items():
                missing = isinstance(value, str)
                row = {
                    "metric": f"wrbench.{metric}",
                    "variant": "paper",
                    "phase": "",
                    "value": None if missing else value,
                    "raw": None,
                }
                items.append({**keys, **row, "reason": value if missing else "", "detail": "", "n_units": 1, **PROVENANCE})
            answer = "yes" if model in inactive else "no"
            asked = {"task": "timeline", "question_id": "camera_inactive", "judge": "geometric", "repeat": 0, "frame": None}
            asked |= {"question": "Was the camera inactive?", "answer": answer, "value": float(answer == "yes"), "confidence": None}
            asked |= {"value_from": "geometry", "reason": "", "verbatim": "", "prompt_version": "1", "simulated": False}
            judgements.append({**keys, **asked, **PROVENANCE})
        tables = params.paths.tables
        write_table(tables, "clips", clips_to_frame(clips))
        write_table(tables, "gated", pd.DataFrame(items))
        write_table(tables, "judgements", pd.DataFrame(judgements))
        output = export("preferences", params, tmp_path / folder)
        read = {d.name: [json.loads(line) for line in (output / f"{d.name}.jsonl").read_text().splitlines()] for d in DIMENSIONS}
        return read, json.loads((output / "summary.json").read_text())

    return exported


def dropped(summary, dimension):
    return {why: count for why, count in summary["dimensions"][dimension]["dropped"].items() if count}


def test_the_better_clip_is_chosen_on_each_dimension_on_its_own(run):
    pairs, summary = run({"a": GOOD, "b": GOOD | {"visible_state": 0.3, "cam_prec": 0.95, "cam_align": 0.5}})
    (state,) = pairs["visible_state"]
    assert (state["chosen"]["model_id"], state["rejected"]["model_id"]) == ("a", "b")
    assert state["margin"] == pytest.approx(0.5) and state["chosen"]["value"] == 0.8
    assert pairs["camera_alignment"][0]["chosen"]["model_id"] == "a"
    assert pairs["visible_spatial"] == [] and dropped(summary, "visible_spatial") == {"tie": 1}
    assert dropped(summary, "camera_precision") == {"tie": 1}  # 0.05 apart is within the band


def test_a_record_carries_metrics_with_provenance_flags_and_hashes(run):
    pairs, summary = run({"a": GOOD, "b": GOOD | {"visible_state": 0.3, "reobserved_state": "no_return"}})
    record = pairs["visible_state"][0]
    metrics = {row["metric"]: row for row in record["rejected"]["metrics"]}
    assert metrics["wrbench.reobserved_state"]["reason"] == "no_return" and metrics["wrbench.reobserved_state"]["value"] is None
    assert metrics["wrbench.visible_state"]["backend"] == "b" and metrics["wrbench.visible_state"]["value"] == 0.3
    assert record["rejected"]["judgeable"] == {"support": True, "reobserved_spatial": True, "reobserved_state": False}
    assert record["rejected"]["dynamic"] is True
    assert summary["rules"] == RULES


def test_re_observed_dimensions_need_two_judgeable_returns_each_gated_on_its_own(run):
    unjudgeable = {"support": 0.0, "reobserved_spatial": "no_oov", "reobserved_state": "no_oov"}
    half = {"reobserved_spatial": 0.2, "reobserved_state": "no_return"}
    pairs, summary = run({"a": GOOD, "b": GOOD | unjudgeable, "c": GOOD | half})
    assert [(p["chosen"]["model_id"], p["rejected"]["model_id"]) for p in pairs["reobserved_spatial"]] == [("a", "c")]
    assert dropped(summary, "reobserved_spatial") == {"not_judgeable": 2}
    assert dropped(summary, "reobserved_state") == {"not_judgeable": 3}
    assert {p["rejected"]["model_id"] for p in pairs["reobservation_support"]} == {"b"}  # skipping the test is what loses there


def test_a_missing_answer_is_not_mistaken_for_an_unjudgeable_return(run):
    _, summary = run({"a": GOOD, "b": GOOD | {"reobserved_state": "judge_failed"}})
    assert dropped(summary, "reobserved_state") == {"not_scored": 1}


def test_holding_still_is_never_rewarded(run):
    still = GOOD | {"cam_prec": 0.0, "cam_align": 0.0, "visual_integrity": 0.99, "visible_state": 0.99}
    pairs, summary = run({"a": GOOD, "b": still}, inactive=("b",))
    assert dropped(summary, "visual_integrity") == {"not_dynamic": 1}
    assert dropped(summary, "visible_state") == {"not_dynamic": 1}
    assert dropped(summary, "camera_alignment") == {"not_preserved": 1}  # the moving clip is less intact: no clean preference
    pairs, _ = run({"a": GOOD, "b": still}, inactive=("b",), camera="static")
    assert pairs["visible_state"][0]["chosen"]["model_id"] == "b"  # where stillness was asked for


def test_a_stronger_camera_motion_must_keep_integrity_and_judgeability(run):
    weak = GOOD | {"cam_align": 0.2}
    for better, kept in (
        (GOOD, True),
        (GOOD | {"visual_integrity": 0.79}, True),
        (GOOD | {"visual_integrity": 0.5}, False),
        (GOOD | {"visual_integrity": "backend_failed"}, False),
        (GOOD | {"support": 0.0}, False),
    ):
        pairs, summary = run({"a": better, "b": weak})
        assert len(pairs["camera_alignment"]) == kept
        assert dropped(summary, "camera_alignment") == ({} if kept else {"not_preserved": 1})


def test_missing_assets_are_dropped_and_counted(run):
    _, summary = run({"a": GOOD, "b": GOOD, "c": GOOD}, absent=("c",))
    for facts in summary["dimensions"].values():
        assert facts["dropped"]["missing_asset"] == 2
        assert facts["candidates"] == 3 == facts["pairs"] + sum(facts["dropped"].values())


def test_the_same_run_gives_the_same_bytes(run, tmp_path):
    models = {"b": GOOD | {"visible_state": 0.3}, "a": GOOD}
    run(models, folder="one")
    run(dict(reversed(models.items())), folder="two")
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_a_run_without_wrbench_or_without_judging_is_told_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("LOOKBACK_ROOT", str(tmp_path))
    params = RunParams(run="trial")
    clip = Clip(benchmark="mbench", setting="T", model_id="a", clip_id="c", video="a.mp4")
    write_table(params.paths.tables, "clips", clips_to_frame([clip]))
    with pytest.raises(ContractError, match="no WRBench clips"):
        export("preferences", params, tmp_path / "pairs")
    write_table(params.paths.tables, "clips", clips_to_frame([clip.model_copy(update={"benchmark": "wrbench"})]))
    with pytest.raises(ContractError, match="judging stage"):
        export("preferences", params, tmp_path / "pairs")
