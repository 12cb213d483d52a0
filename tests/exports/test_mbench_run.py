"""MBench's run folder of four T clips: what the trigger said, and the M-Score that follows, by hand and by the functional twin."""

import json

import numpy as np
import pandas as pd
import pytest
from lookback.clips import KEYS, Clip, clips_to_frame
from lookback.exports import export
from lookback.judging.gate import gate_items, trigger_verdicts
from lookback.judging.verdicts import clip_verdicts
from lookback.metrics.functional import m_score
from lookback.params import RunParams
from lookback.params.stages import Judging, Scoring
from lookback.scoring.figures import coverage_table
from lookback.tables import write_table

METRIC = "mbencht.environment.rendering_style"
PROVENANCE = {"backend": "b", "version": "1", "weights": "", "params_hash": "p", "input_hash": "i"}


@pytest.fixture
def exported(tmp_path, monkeypatch):
    """Writes a run from {clip: (score or None, trigger's answer or None, raw if it is not the score)} and returns what its summary
    and items say."""
    monkeypatch.setenv("LOOKBACK_ROOT", str(tmp_path))
    (tmp_path / "params").mkdir()
    (tmp_path / "notebooks").mkdir()

    def run(clips, ignore_trigger=False, variant="paper"):
        rows, asked, units = [], [], []
        params = RunParams(
            run="trial", judging=Judging(judge="openai", ignore_trigger=ignore_trigger), scoring=Scoring(variant=variant)
        )
        known = [
            Clip(benchmark="mbench", setting="T", model_id="m", clip_id=name, scene=name, video=f"{name}.mp4") for name in clips
        ]
        for clip, (score, answer, *raw) in zip(known, clips.values(), strict=True):
            keys = dict(zip(KEYS, clip.key, strict=True))
            base = keys | {"metric": METRIC, "variant": variant, "phase": "", "value": score, "raw": raw[0] if raw else score}
            base |= {"reason": "" if score is not None else "low_texture", "detail": ""}
            rows.append({**base, "n_units": 1, **PROVENANCE})
            units.append({**base, "unit_id": "u", "kind": "pair", "frame": 1, "frame_other": 2})
            row = keys | {"task": "trigger", "question_id": "trigger", "judge": "j", "repeat": 0, "frame": None, "question": "?"}
            row |= {
                "answer": answer or "",
                "value": {"yes": 0.9, "no": 0.1}.get(answer),
                "confidence": None,
                "value_from": "stated",
            }
            row |= {"reason": "" if answer else "judge_unparsed", "verbatim": "", "prompt_version": "1", "simulated": False}
            beside = {"answer": "no", "value": 0.0, "reason": "", "judge": "geometric", "backend": "geometric"}
            asked += [{**row, **PROVENANCE, **beside}, {**row, **PROVENANCE, "backend": "openai"}]  # asked too, and does not count
        items, judgements = pd.DataFrame(rows), pd.DataFrame(asked)
        verdicts = trigger_verdicts(clip_verdicts(judgements, {"trigger": "j"}))
        tables = params.paths.tables
        write_table(tables, "clips", clips_to_frame(known))
        write_table(tables, "gated", items if ignore_trigger else gate_items(items, verdicts))
        write_table(tables, "units", pd.DataFrame(units))
        write_table(tables, "judgements", judgements)
        folder = export("mbench", params, tmp_path / "mbench") / "metrics" / METRIC
        lines = {name: (folder / f"{name}.jsonl").read_text().splitlines() for name in ("items", "units")}
        read = {name: {row["item_id"]: row["scores"] for row in map(json.loads, text)} for name, text in lines.items()}
        return json.loads((folder / "summary.json").read_text())["groups"]["m"], read

    return run


def test_a_triggered_clip_without_a_score_counts_for_coverage_only(exported):
    summary, _ = exported({"a": (0.8, "yes"), "b": (None, "yes"), "c": (0.9, "no"), "d": (0.6, "yes")})
    expected = m_score([0.8, np.nan, np.nan, 0.6], [True, True, False, True])
    assert summary["m_score"] == pytest.approx(expected) == pytest.approx(2 * 0.7 * 0.75 / 1.45)
    assert summary["trigger_coverage"] == 0.75


def test_an_unread_trigger_is_neither_yes_nor_no(exported):
    summary, read = exported({"a": (0.8, "yes"), "b": (0.7, None), "c": (0.7, None), "d": (0.9, "no")})
    assert summary["trigger_coverage"] == 0.5
    assert "triggered" not in read["items"]["b"]


def test_what_the_trigger_said_stands_beside_items_and_units_even_when_it_is_ignored(exported):
    summary, read = exported({"a": (0.8, "yes"), "d": (0.9, "no")}, ignore_trigger=True)
    assert "m_score" not in summary, "its score is not that of the clips that triggered"
    for level in ("items", "units"):
        assert read[level]["a"] == {"score": 0.8, "triggered": 1.0, "trigger_score": 0.9}
        assert read[level]["d"] == {"score": 0.9, "triggered": 0.0, "trigger_score": 0.1}


def test_the_mean_of_raw_numbers_is_over_all_clips_with_a_score(exported):
    summary, read = exported({"a": (1.0, "yes"), "b": (1.0, "yes"), "c": (0.5, "yes", 0.0), "d": (None, "yes", 7.0)})
    assert "score_raw" not in read["items"]["a"] and read["items"]["c"]["score_raw"] == 0.0
    assert summary["score_raw"] == pytest.approx(2 / 3)
    assert "score_raw" not in exported({"a": (1.0, "yes"), "b": (0.5, "yes")})[0]


def test_nothing_measured_has_no_m_score(exported):
    summary, _ = exported({"a": (None, "yes"), "b": (None, "no")})
    assert summary["m_score"] is None


def test_a_clip_without_detail_is_left_out_or_counts_as_zero_and_both_means_stand_there(exported):
    summary, _ = exported({"a": (0.8, "yes"), "b": (None, "yes"), "d": (0.6, "yes")})
    assert (summary["missing"], summary["score"]) == ("leave_out", pytest.approx(0.7))
    assert summary["score_missing_zero"] == pytest.approx(1.4 / 3) and summary["score_missing_left_out"] == pytest.approx(0.7)
    assert (summary["n"], summary["n_items"]) == (2, 3)
    official, _ = exported({"a": (0.8, "yes"), "b": (None, "yes"), "d": (0.6, "yes")}, variant="official")
    assert (official["missing"], official["score"], official["n"]) == ("zero", pytest.approx(1.4 / 3), 2)
    rows = pd.DataFrame({"value": [0.8, None, 0.6], "reason": ["", "low_texture", ""]}).astype({"value": float})
    same = rows.assign(metric=METRIC, variant="official", phase="", benchmark="mbench", backend="b")
    assert coverage_table(same)["mean"].tolist() == [pytest.approx(1.4 / 3)], "the command prints the same number"
    assert official["m_score"] == pytest.approx(2 * (1.4 / 3) / (1.4 / 3 + 1))
