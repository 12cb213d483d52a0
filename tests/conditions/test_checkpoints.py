"""Checkpoints of a training run: which are scored, when, and what the curve holds."""

import json
import multiprocessing
import os
import re
import signal
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from lookback import checkpoints as module
from lookback.api import run_params
from lookback.checkpoints import DONE, checkpoints, score_folder
from lookback.cli.app import app
from lookback.errors import UsageError
from lookback.media import encode
from lookback.report.figures.curve import draw_curve
from lookback.tables import read_csv
from time_limits import HUNG_S
from typer.testing import CliRunner

FORK = multiprocessing.get_context("fork")
METRIC = "wrbench.visual_integrity"
SCORED = re.compile(r"(step-\d+): \d+ of \d+ metrics have values")


@pytest.fixture(autouse=True)
def curve_is_not_drawn(monkeypatch):
    """Drawing takes half of the time of a small checkpoint; one test looks at the figure."""
    monkeypatch.setattr(module, "draw_curve", lambda *_: None)


def write_checkpoint(folder, scenes, wrong):
    """WRBench clips of a pattern; a share `wrong` of its cells is another one in every frame."""
    folder.mkdir(parents=True)
    for scene in range(scenes):
        random = np.random.default_rng(scene)
        cells = random.integers(0, 255, (3, 9, 16, 3))
        frames = np.where(random.random((3, 9, 16, 1)) < wrong, cells, cells[:1]).repeat(8, 1).repeat(8, 2).astype(np.uint8)
        encode(folder / f"scene{scene}.mp4", frames, 8.0)
    rows = [{"path": f"scene{n}.mp4", "model": "m", "video_id": f"v{n}", "family_id": f"scene{n}"} for n in range(scenes)]
    (folder / "manifest.json").write_text(json.dumps({"videos": rows}))


def watch(folder, tmp_path, *more):
    call = ["watch", str(folder), "--run", str(tmp_path / "out"), "--metrics", METRIC, "--once", "--workers", "1", *more]
    return CliRunner().invoke(app, call, catch_exceptions=False)


def test_new_and_changed_checkpoints_are_scored_once_and_the_curve_rises_as_they_get_better(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "draw_curve", draw_curve)
    for step, wrong in ((100, 0.8), (2000, 0.1)):
        write_checkpoint(tmp_path / "train" / f"step-{step}", 5, wrong)
    first = watch(tmp_path / "train", tmp_path, "--settle-s", "0")
    assert first.exit_code == 0, first.output
    assert SCORED.findall(first.output) == ["step-100", "step-2000"]
    curve = pd.read_csv(tmp_path / "out" / "curve.csv")
    scores = curve.set_index("step")
    assert list(scores.index) == [100, 2000] and scores["mean"][100] < scores["mean"][2000] and (scores["n"] == 5).all()
    assert (scores["ci_low"] <= scores["mean"]).all() and (scores["mean"] <= scores["ci_high"]).all()
    assert (tmp_path / "out" / "figures" / "checkpoint_curve.png").stat().st_size > 5000
    assert not SCORED.findall(watch(tmp_path / "train", tmp_path, "--settle-s", "0").output)
    write_checkpoint(tmp_path / "train" / "step-3000", 1, 0)
    again = watch(tmp_path / "train", tmp_path, "--settle-s", "0").output
    assert SCORED.findall(again) == ["step-3000"]
    assert sorted(pd.read_csv(tmp_path / "out" / "curve.csv")["step"].unique()) == [100, 2000, 3000]


def test_a_checkpoint_that_is_still_written_waits_and_a_broken_one_is_one_line(tmp_path):
    write_checkpoint(tmp_path / "train" / "step-1", 1, 0)
    (tmp_path / "train" / "step-2").mkdir()
    (tmp_path / "train" / "step-2" / "notes.txt").write_text("no clip")
    (tmp_path / "train" / "empty").mkdir()
    found = {each.name: each.settled for each in checkpoints(tmp_path / "train", settle_s=3600)}
    assert found == {"step-1": False, "step-2": False}
    (tmp_path / "train" / "step-1" / DONE).touch()
    assert checkpoints(tmp_path / "train", settle_s=3600)[0].settled
    output = watch(tmp_path / "train", tmp_path, "--settle-s", "0", "--layout", "wrbench").output
    assert "step-1: " in output and "step-2: not scored" in output and "Traceback" not in output
    state = json.loads((tmp_path / "out" / "checkpoints.json").read_text())
    assert state["step-1"]["problem"] == "" and state["step-2"]["problem"] and state["step-1"]["step"] == 1


def test_other_settings_score_again_and_other_workers_do_not(tmp_path):
    write_checkpoint(tmp_path / "train" / "step-1", 1, 0)
    assert SCORED.findall(watch(tmp_path / "train", tmp_path, "--settle-s", "0").output) == ["step-1"]
    other = ("--settle-s", "0", "--metrics", "wrbench.cam_prec")
    assert SCORED.findall(watch(tmp_path / "train", tmp_path, *other).output) == ["step-1"]
    assert set(pd.read_csv(tmp_path / "out" / "curve.csv")["metric"]) == {METRIC, "wrbench.cam_prec"}
    assert not SCORED.findall(watch(tmp_path / "train", tmp_path, *other, "--workers", "2").output)


def test_other_metrics_replace_the_curve_and_the_message_says_so_and_where_it_lies(tmp_path, monkeypatch):
    write_checkpoint(tmp_path / "train" / "step-1", 1, 0)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    said = {}
    for place, metric in ((tmp_path, METRIC), (tmp_path / "elsewhere", "wrbench.cam_prec")):
        monkeypatch.chdir(place)
        call = ["watch", "~/train", "--run", "~/out", "--metrics", metric, "--once", "--workers", "1", "--settle-s", "0"]
        said[metric] = CliRunner().invoke(app, call, catch_exceptions=False).output
        assert set(pd.read_csv(tmp_path / "out" / "curve.csv")["metric"]) == {metric}
    first, second = said.values()
    assert "replaces" not in first and "\nthe curve is out/curve.csv\n" in first
    assert "this replaces the earlier results of 1 other metric" in second
    assert f"\nthe curve is {tmp_path / 'out' / 'curve.csv'}\n" in second


def test_a_checkpoint_that_could_not_be_scored_is_tried_once_more_by_every_call(tmp_path, monkeypatch):
    (tmp_path / "train" / "step-2").mkdir(parents=True)
    (tmp_path / "train" / "step-2" / "notes.txt").write_text("no clip")
    looks = []

    def look_again(seconds):
        looks.append(seconds)
        if len(looks) == 3:
            raise InterruptedError

    monkeypatch.setattr(module, "time", SimpleNamespace(time=time.time, monotonic=time.monotonic, sleep=look_again))
    source = {"root": str(tmp_path / "train"), "layout": "wrbench"}
    params = run_params(str(tmp_path / "out"), 1, {"curation": {"sources": [source]}})
    for _ in range(2):
        looks.clear()
        said = module.watch(tmp_path / "train", params, settle_s=0, every_s=1, once=False)
        assert next(said).startswith("step-2: not scored")
        with pytest.raises(InterruptedError):  # it looks three times, and has nothing more to say
            next(said)


def curve_rows(name, step):
    row = dict.fromkeys(module.COLUMNS, "") | dict.fromkeys(module.NUMBERS, 0.5)
    return pd.DataFrame([row | {"checkpoint": name, "step": step}])


def record(root, step):
    module.record_step(root, f"step-{step}", step, curve_rows(f"step-{step}", step))


def record_and_die(root):
    module.csv_text = lambda frame: os.kill(os.getpid(), signal.SIGKILL)  # where the curve is written
    record(root, 1)


def test_a_kill_between_curve_and_record_loses_no_step_and_several_at_once_lose_none(tmp_path):
    killed = FORK.Process(target=record_and_die, args=(tmp_path / "killed",))
    killed.start()
    killed.join(HUNG_S)
    assert killed.exitcode == -signal.SIGKILL and not (tmp_path / "killed" / module.STATE).exists()  # it is scored again
    several = [FORK.Process(target=record, args=(tmp_path / "out", step)) for step in range(8)]
    for each in several:
        each.start()
    for each in several:
        each.join(HUNG_S)
    assert len(json.loads((tmp_path / "out" / module.STATE).read_text())) == len(module.read_curve(tmp_path / "out")) == 8


def test_a_checkpoint_with_file_times_in_the_future_is_scored_once_it_rests_and_once_says_that_it_waits(tmp_path, monkeypatch):
    note = tmp_path / "train" / "step-2" / "notes.txt"
    note.parent.mkdir(parents=True)
    note.write_text("no clip")
    os.utime(note, (time.time() + 86400,) * 2)
    waits = watch(tmp_path / "train", tmp_path, "--settle-s", "30").output
    assert "step-2: not scored yet" in waits and "in the future" in waits
    now = [0.0]
    monkeypatch.setattr(
        module, "time", SimpleNamespace(time=time.time, monotonic=lambda: now[0], sleep=lambda s: now.insert(0, now[0] + s))
    )
    monkeypatch.setattr(module, "score_checkpoint", lambda *_: {"problem": "none here"})
    params = run_params(str(tmp_path / "out"), 1, {"curation": {"sources": [{"root": str(tmp_path / "train")}]}})
    assert next(module.watch(tmp_path / "train", params, settle_s=30, every_s=10, once=False)).startswith("step-2")
    assert now[0] == 30


def test_steps_are_sorted_as_numbers(tmp_path):
    for name in ("ckpt_9", "ckpt_10", "final"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(name)
    assert [each.name for each in checkpoints(tmp_path, 0)] == ["ckpt_9", "ckpt_10", "final"]


@pytest.mark.parametrize("name", ["nothing"])
def test_a_folder_that_is_not_there_is_one_sentence(tmp_path, name):
    result = CliRunner().invoke(app, ["watch", str(tmp_path / name), "--run", str(tmp_path / "out"), "--once"])
    assert result.exit_code == 1 and "there is no such folder" in str(result.exception)


def test_a_training_loop_scores_its_folders_itself(tmp_path):
    with pytest.raises(UsageError, match="no files"):
        score_folder(tmp_path / "step-1", tmp_path / "out")
    write_checkpoint(tmp_path / "step-100", 1, 0.5)
    done = score_folder(tmp_path / "step-100", tmp_path / "out", [METRIC])
    assert (done["step"], done["problem"], done["scored"]) == (100, "", 1)
    assert list(pd.read_csv(tmp_path / "out" / "curve.csv")["checkpoint"]) == ["step-100"]


def test_a_checkpoint_may_have_any_name_and_stands_once_in_the_curve(tmp_path):
    for name in ("NA", "=x"):
        write_checkpoint(tmp_path / name, 1, 0.5)
    for name in ("NA", "=x", "NA", "=x"):
        score_folder(tmp_path / name, tmp_path / "out", [METRIC])
    curve = read_csv(tmp_path / "out" / "curve.csv", dtype=str, keep_default_na=False)
    assert sorted(curve["checkpoint"]) == ["=x", "NA"]


def test_the_given_step_is_kept(tmp_path):
    write_checkpoint(tmp_path / "folder-7", 1, 0.5)
    assert score_folder(tmp_path / "folder-7", tmp_path / "out", [METRIC], step=-1)["step"] == -1
    assert list(pd.read_csv(tmp_path / "out" / "curve.csv")["step"]) == [-1]


def test_broken_videos_stand_in_the_line_the_record_and_the_curve(tmp_path):
    write_checkpoint(tmp_path / "train" / "step-1", 3, 0)
    for name in ("scene1.mp4", "scene2.mp4"):
        (tmp_path / "train" / "step-1" / name).write_bytes(b"no video")
    write_checkpoint(tmp_path / "train" / "step-2", 1, 0)
    said = {line.split(":")[0]: line for line in watch(tmp_path / "train", tmp_path, "--settle-s", "0").stdout.splitlines()}
    assert re.search(r"; 2 clips rejected, see .*\. The first: .*scene1\.mp4: video: ", said["step-1"])
    assert "rejected" not in said["step-2"]
    curve = module.read_curve(tmp_path / "out").set_index("step")
    assert list(curve["n_items"]) == [1, 1] and list(curve["n_rejected"]) == [2, 0]
    record = json.loads((tmp_path / "out" / "checkpoints.json").read_text())
    assert record["step-1"]["rejected"].startswith("2 clips rejected") and record["step-2"]["rejected"] == ""


def test_a_curve_from_before_rejected_clips_were_counted_is_continued(tmp_path):
    (tmp_path / module.CURVE).write_text(module.csv_text(curve_rows("step-1", 1).drop(columns="n_rejected")))
    record(tmp_path, 2)
    curve = module.read_curve(tmp_path)
    assert list(curve["step"]) == [1, 2] and list(curve["n_rejected"].isna()) == [True, False] and list(curve) == module.COLUMNS


def test_checkpoints_of_half_an_epoch_stand_in_order(tmp_path):
    for name in ("epoch-10", "epoch-1.5", "epoch-0.5", "epoch-1.0", "final"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "clip.mp4").touch()
    assert [each.step for each in checkpoints(tmp_path, 0)] == [0.5, 1.0, 1.5, 10, None]


def test_a_run_inside_the_watched_folder_is_refused(tmp_path):
    """Its own tables would be the next checkpoint, new after every look."""
    (tmp_path / "train" / "step-1").mkdir(parents=True)
    for place in ("train", "train/out"):
        with pytest.raises(UsageError, match="lies in the watched folder"):
            list(module.watch(tmp_path / "train", run_params(str(tmp_path / place), 1, {}), 0, 0, once=True))


@pytest.mark.parametrize("option", ["--settle-s", "--every-s"])
def test_time_does_not_run_backwards(tmp_path, option):
    (tmp_path / "train").mkdir()
    call = ["watch", str(tmp_path / "train"), "--run", str(tmp_path / "out"), "--once", option, "-1"]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 2 and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("steps", "places"),
    [
        ({"step-100": 100, "step-2000": 2000}, [100, 2000]),
        ({"step-100": 100, "step-2000": 2000, "final": None}, [0, 1, 2]),
        ({"a-100": 100, "b-100": 100}, [0, 1]),
    ],
)
def test_no_checkpoint_is_drawn_at_a_step_that_it_does_not_have(tmp_path, monkeypatch, steps, places):
    drawn = []
    monkeypatch.setattr(
        "lookback.report.figures.curve.save_figure", lambda figure, *_: drawn.append(figure) or SimpleNamespace(to_html=str)
    )
    rows = [{"checkpoint": name, "step": step, "metric": METRIC, "phase": "", "n": 5} for name, step in steps.items()]
    draw_curve(pd.DataFrame(rows).assign(mean=0.5, ci_low=0.4, ci_high=0.6), tmp_path)
    (panel,) = drawn[0].axes
    assert list(panel.lines[0].get_xdata()) == places
    assert places == list(steps.values()) or [label.get_text() for label in panel.get_xticklabels()] == list(steps)
