"""How long the rest of a run takes: from the last run, from the recorded demo, by frames, or not known."""

import json
from io import StringIO

import pandas as pd
import pytest
from lookback.params.load import validate
from lookback.pipeline import STAGES, Pipeline, runner
from lookback.pipeline.remaining import RECORDED, Running, TimeLeft, duration, schedule_length
from lookback.progress import seconds_left
from rich.console import Console

DEMO = json.loads(RECORDED.read_text(encoding="utf-8"))
EACH = {stage.name: 10.0 for stage in STAGES}
WORLD = {"curation": {"world": {}}}


def left_of(folder, **values) -> TimeLeft:
    return TimeLeft(validate({"run": "tiny", "output": str(folder), **values}, "test"), STAGES)


def remember(folder, seconds: dict[str, float]) -> None:
    (folder / "stages").mkdir(parents=True)
    for name, took in seconds.items():
        (folder / "stages" / f"{name}.json").write_text(json.dumps({"seconds": took, "fingerprint": {"inputs": {}}}))


def clips_table(folder, frames: int) -> None:
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    pd.DataFrame({"n_frames": [frames // 2, frames - frames // 2]}).to_parquet(folder / "tables" / "clips.parquet")


def test_two_stages_at_a_time_and_each_after_what_it_reads():
    # four in a row; then agreement and forensics side by side, audit behind the first of them; then the report
    assert schedule_length(STAGES, EACH, set()) == 70.0
    assert schedule_length(STAGES, EACH | {"audit": 1.0}, set()) == 61.0
    assert schedule_length(STAGES[-1:], {"report": 3.0}, set()) == 3.0 and schedule_length([], {}, set()) == 0.0


def test_the_last_run_says_how_long_it_takes(tmp_path):
    remember(tmp_path, EACH)
    left = left_of(tmp_path)
    assert left.seconds(set(), {}) == 70.0 and left.first_words() == "all of it takes about 1 min (as the last time)"
    assert left.seconds({"curation"}, {"extraction": Running(4.0)}) == 56.0
    assert left.words({stage.name for stage in STAGES[:-1]}, {"report": Running(1.0)}) == "about 10 s left"
    assert left.words({stage.name for stage in STAGES}, {}) == "done"


def test_the_demo_is_estimated_from_its_recorded_run_and_corrected_by_this_machines_pace(tmp_path):
    left = left_of(tmp_path, **WORLD)
    whole = left.seconds(set(), {})
    assert whole == pytest.approx(schedule_length(STAGES, DEMO["stages"], set())) and "as the demo took on" in left.first_words()
    left.finished(STAGES[0], DEMO["stages"]["curation"] * 2)
    assert left.seconds({"curation"}, {}) == pytest.approx(2 * (whole - DEMO["stages"]["curation"]))


def test_other_clips_are_not_known_until_curation_counted_their_frames(tmp_path):
    left = left_of(tmp_path)
    assert left.seconds(set(), {}) is None and left.words(set(), {}) == "time left not known"
    assert "not known on a first run" in left.first_words()
    clips_table(tmp_path, DEMO["frames"] * 2)
    left.finished(STAGES[0], DEMO["stages"]["curation"] * 2)
    extraction = 2 * DEMO["stages"]["extraction"]
    assert left.expected["extraction"] == pytest.approx(extraction) and "number of frames" in left.source
    # a run that was stopped after curation knows its frames from the start
    assert left_of(tmp_path).expected["extraction"] == pytest.approx(extraction)


def test_a_stage_that_takes_longer_than_expected_is_not_said_to_be_almost_done():
    assert Running(200.0).left(100.0) == 20.0
    assert Running(200.0, told=90.0).left(100.0) == 90.0
    assert Running(30.0).left(100.0) == 70.0


def test_a_stages_own_report_of_what_is_left_is_read(tmp_path):
    file = tmp_path / "progress"
    assert seconds_left(file) == 0.0
    file.write_text(json.dumps({"what": "scoring", "done": 1, "total": 3, "unit": "clip", "left_s": 40, "note": ""}))
    assert seconds_left(file) == 40.0
    file.write_text("{half")
    assert seconds_left(file) == 0.0


@pytest.mark.parametrize(
    ("seconds", "words"), [(1, "5 s"), (43, "45 s"), (58, "1 min"), (200, "3 min"), (3580, "1 h 0 min"), (7800, "2 h 10 min")]
)
def test_durations_are_said_in_words(seconds, words):
    assert duration(seconds) == words


def test_the_runner_says_the_stages_and_the_time_left(tmp_path, monkeypatch):
    remember(tmp_path, EACH)
    monkeypatch.setattr(runner, "changed", lambda stage, *_: "not done yet" if stage.name in ("forensics", "report") else "")
    monkeypatch.setattr(runner, "fingerprint", lambda *_: {"inputs": {}})
    monkeypatch.setattr(runner, "record", lambda *_: None)
    monkeypatch.setattr(runner, "write_provenance", lambda *_: None)

    def start(self, stage, scratch):
        for table in stage.writes:
            self.params.paths.tables.mkdir(exist_ok=True)
            (self.params.paths.tables / f"{table}.parquet").touch()
        (result := scratch / f"{stage.name}.json").write_text("{}")
        ended = runner.subprocess.Popen(["true"])
        return runner.Running(stage, ended, result, scratch / "log", scratch / "progress", {"inputs": {}}, runner.time.monotonic())

    monkeypatch.setattr(Pipeline, "_start", start)
    told = StringIO()
    params = validate({"run": "tiny", "output": str(tmp_path)}, "test")
    assert Pipeline(params, "tiny", [], Console(file=told, width=200)).run() == ["forensics", "report"]
    shown = told.getvalue()
    # what is up to date takes no time; audit was not looked at yet when forensics started
    assert "stages: forensics, audit, report; all of it takes about 20 s (as the last time)" in shown
    assert "60_forensics: not done yet; about 20 s left" in shown and "90_report: not done yet; about" in shown
