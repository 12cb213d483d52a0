"""Verdicts against labels: the arithmetic against scikit-learn and the published kappas, cross-validation, and the command."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lookback.cli.app import app
from lookback.forensics.calibration import calibration
from lookback.forensics.model import Design
from lookback.forensics.rules import LABELS
from lookback.validity import dataset, fit
from lookback.validity.by_eye import ABSTENTIONS, CAMERAS, WRONG, rightly_silent, seen
from lookback.validity.dataset import Label, clips_folder, label_name, read_labels, scene_of
from lookback.validity.judged import FACTS, judge_table, wrong_answers
from lookback.validity.page import wrong_verdicts
from lookback.validity.report import switched_off, validity
from lookback.validity.scores import Said, agreement, beats_chance, enough_examples, label_row, score_table, summary
from sklearn.metrics import f1_score, precision_score, recall_score
from typer.testing import CliRunner

MELT = "geometric_melt"


def label(clip: str, sure: str = "", doubtful: str = "", surest: str = "none", **facts: str) -> Label:
    both, one = (frozenset(filter(None, text.split(";"))) for text in (sure, doubtful))
    values = {"camera": "clear", "leaves": "yes", "returns": "yes"} | facts
    return Label(clip, scene_of(clip), both, one, surest, **values)


def test_precision_recall_and_f1_are_those_of_scikit_learn():
    rng = np.random.default_rng(2)
    truth, named = rng.random(60) < 0.4, rng.random(60) < 0.5
    labels = {f"scene_1_{i}": label(f"scene_1_{i}", MELT if truth[i] else "") for i in range(60)}
    row = label_row(MELT, [Said(clip, MELT, bool(named[i])) for i, clip in enumerate(labels)], labels)
    expected = [score(truth, named) for score in (precision_score, recall_score, f1_score)]
    assert [row["precision"], row["recall"], row["F1"]] == pytest.approx(expected)
    assert row["precision_low"] < row["precision"] < row["precision_high"] and row["abstained"] == 0


def test_doubtful_labels_count_for_nothing_and_abstentions_are_shown():
    labels = {
        "a_1_x": label("a_1_x", MELT),
        "a_1_y": label("a_1_y", doubtful=MELT),
        "a_1_z": label("a_1_z"),
        "b_1_x": label("b_1_x", MELT),
    }
    said = [
        Said("a_1_x", MELT, True),
        Said("a_1_y", MELT, True),
        Said("a_1_z", MELT, False),
        Said("b_1_x", MELT, False, abstained="too_close"),
    ]
    row = label_row(MELT, said, labels)
    assert (row["n"], row["named"], row["right"], row["abstained"], row["recall"]) == (2, 1, 1, 1, 1.0)
    assert row["F1"] == 1.0 and row["F1_abstained_missed"] == pytest.approx(2 / 3)
    assert wrong_verdicts(said, labels) == []
    assert [kind for _, kind in wrong_verdicts([Said("a_1_z", MELT, True), Said("b_1_x", MELT, False)], labels)] == [
        "false alarm",
        "missed",
    ]


def test_chance_is_not_beaten_by_naming_a_failure_everywhere():
    labels = {f"s_1_{i}": label(f"s_1_{i}", MELT if i % 3 == 0 else "") for i in range(30)}
    everywhere = label_row(MELT, [Said(clip, MELT, True) for clip in labels], labels)
    right = label_row(MELT, [Said(clip, MELT, MELT in labels[clip].sure) for clip in labels], labels)
    assert not beats_chance(everywhere) and beats_chance(right)


def test_examples_must_come_from_two_scenes():
    assert not enough_examples(MELT, [label(f"a_1_{i}", MELT) for i in range(5)])
    assert enough_examples(MELT, [label("a_1_x", MELT), label("a_1_y", MELT), label("b_1_x", MELT)])


def test_the_summary_counts_surest_failures_false_alarms_and_ground_truths():
    labels = {
        "a_1_x": label("a_1_x", MELT, surest=MELT),
        "a_1_y": label("a_1_y", "state_reset", surest="state_reset"),
        "a_1_gt": label("a_1_gt"),
        "b_1_x": label("b_1_x", "style_shift", surest="disputed"),
    }
    said = [
        Said(clip, name, (clip, name) in {("a_1_x", MELT), ("a_1_gt", MELT)}) for clip in labels for name in (MELT, "style_shift")
    ]
    said += [Said(clip, "state_reset", False, abstained="needs_judge") for clip in labels]
    found = summary(said, labels, score_table(said, labels, LABELS), ["a_1_gt"], {("a_1_y", "state_reset"), ("a_1_x", MELT)})
    assert (found["surest"], found["surest_named"], found["surest_abstained"], found["surest_rightly"]) == (2, 1, 1, 1)
    assert (found["named_on_truths"], found["false_alarms"], found["faithful_flagged"]) == (1, 1, 1)


def test_what_was_looked_at_is_told_for_known_labels_in_whole_sentences():
    for row in [*seen(ABSTENTIONS), *seen(WRONG)]:
        assert row["label"] in LABELS or row["label"] in FACTS
        assert scene_of(row["clip"]) and len(row["why"]) > 20
    assert {row["judged"] for row in seen(CAMERAS)} == {"right", "wrong"} and len(seen(CAMERAS)) == 38
    assert ("Real_007_wan", "state_reset") in rightly_silent()
    assert ("Barnyard_001_svc", "background_hallucination") not in rightly_silent()


def test_the_judges_wrong_answers_are_those_that_the_labels_contradict():
    labels = {"a_1_x": label("a_1_x", leaves="no"), "a_1_y": label("a_1_y"), "a_1_z": label("a_1_z", leaves="disputed")}
    judge = pd.DataFrame(
        [(clip, "subject_hidden", True, 0.9, "") for clip in labels], columns=["clip", "fact", "yes", "confidence", "reason"]
    )
    assert [(one.clip, one.label, kind) for one, kind in wrong_answers(judge, labels)] == [("a_1_x", "subject_hidden", "false yes")]


def test_a_scene_is_judged_by_models_that_never_saw_it():
    """In scene b the feature is high although nothing melts. A model that saw b would know; one that did not cannot."""
    rows, labels = {}, {}
    for scene in "acd":
        for i in range(8):
            rows[f"{scene}_1_{i}"] = float(i)
            labels[f"{scene}_1_{i}"] = label(f"{scene}_1_{i}", MELT if i >= 4 else "")
    for i in range(8):
        rows[f"b_1_{i}"] = 100.0 + i
        labels[f"b_1_{i}"] = label(f"b_1_{i}")
    table = pd.DataFrame({"unexplained": rows})
    said = {one.clip: one for one in fit.cross_validated(table, labels, MELT, Design({"unexplained": 1}))}
    assert all(said[f"b_1_{i}"].named for i in range(8))
    knows = fit.fitted(table, labels, MELT, Design({"unexplained": 1}))
    assert knows is not None and knows.probability({"unexplained": 104.0}) < said["b_1_4"].probability


def test_labels_that_are_off_say_nothing():

    said = switched_off([Said("a_1_x", "teleport", True), Said("a_1_x", "camera_inactivity", True)], calibration("real"))
    assert [(one.named, one.abstained) for one in said] == [(False, "unproven"), (True, "")]


def test_the_judge_is_held_against_what_both_passes_agree_on():
    labels = {
        "a_1_x": label("a_1_x"),
        "a_1_y": label("a_1_y", leaves="no"),
        "a_1_z": label("a_1_z", leaves="disputed"),
        "a_1_w": label("a_1_w"),
    }
    judge = pd.DataFrame(
        {"clip": ["a_1_x", "a_1_y", "a_1_z"], "fact": "subject_hidden", "yes": [True, True, False], "confidence": 0.9, "reason": ""}
    )
    row = judge_table(judge, labels).set_index("fact").loc["subject_hidden"]
    assert (row["n"], row["named"], row["right"], row["abstained"], row["right_answers"]) == (2, 2, 1, 1, 1)


@pytest.mark.parametrize(("clip", "scene"), [("Barnyard_001_wan", "Barnyard_001"), ("Japanese_Street_005_x", "Japanese_Street_005"),
                                             ("case_a_yaw_lr", "case_a"), ("Real_007_gt", "Real_007")])  # fmt: skip
def test_scenes_are_read_from_names(clip, scene):
    assert scene_of(clip) == scene


def project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (folder / "project" / "params").mkdir(parents=True)
    (folder / "project" / "notebooks").mkdir()
    monkeypatch.setenv("LOOKBACK_ROOT", str(folder / "project"))
    return folder / "project"


def test_without_labelled_clips_the_command_says_so_and_ends_well(tmp_path, monkeypatch):
    project(tmp_path, monkeypatch)
    answer = CliRunner().invoke(app, ["validity"])
    assert answer.exit_code == 0, answer.output
    assert "is absent" in answer.output and "outputs/demo holds no finished run" in answer.output
    assert (tmp_path / "project" / "outputs" / "validity" / "validity.html").is_file()


def test_a_folder_of_clips_that_does_not_exist_is_refused_in_a_sentence(tmp_path, monkeypatch):
    project(tmp_path, monkeypatch)
    answer = CliRunner().invoke(app, ["validity", "--clips", "nowhere"])
    assert answer.exit_code != 0 and "is not a folder" in str(answer.exception)


CLIPS = clips_folder()  # before a test moves the project's folder
needs_clips = pytest.mark.skipif(not (CLIPS / dataset.LABELS).is_file(), reason="../shared/clips is absent: no labelled real clips")


@needs_clips
def test_the_kappas_of_the_labels_are_those_that_their_readme_states():
    kappas = agreement(read_labels(CLIPS).values(), LABELS)
    assert kappas["camera_inactivity"] == pytest.approx(0.82, abs=0.01) and kappas["identity_drift"] == pytest.approx(
        0.60, abs=0.01
    )
    assert kappas["geometric_melt"] == pytest.approx(0.57, abs=0.02) and kappas["duplicate"] < 0.5


@needs_clips
def test_the_labelled_clips_become_datasets_that_the_layouts_recognise(tmp_path, monkeypatch):
    from lookback.layouts import read
    from lookback.params.stages import Source

    root = project(tmp_path, monkeypatch)
    roots = dataset.build_datasets(CLIPS, root / "data")
    names = [label_name(clip) for folder in roots for clip in read(Source(root=str(folder))).clips]
    assert sorted(names) == sorted(read_labels(CLIPS)) and len(names) == 38


@needs_clips
def test_the_whole_comparison_is_written_from_a_table_of_features(tmp_path, monkeypatch):
    from lookback.validity import report
    from lookback.validity.run import RealRun

    project(tmp_path, monkeypatch)
    labels = read_labels(CLIPS)
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {name: rng.random(len(labels)) for name in ("reach", "off_request", "unexplained")}, index=pd.Index(labels, name="clip")
    )
    table["asked_motion"] = 60.0
    table["reach"] = [0.01 if "camera_inactivity" in one.sure else 1.0 for one in labels.values()]
    none = (
        pd.DataFrame(columns=["clip", "label", "confidence"]),
        pd.DataFrame(columns=["clip", "fact", "yes", "confidence", "reason"]),
    )
    monkeypatch.setattr(report, "real_run", lambda source, workers: RealRun(table, *none))
    monkeypatch.setattr(report, "read_table", lambda folder, name: pd.DataFrame())
    monkeypatch.setattr(report, "sheets", lambda wrong, videos, why: "")
    result, page = validity(CLIPS)
    assert result.figures["real"]["inactivity_f1"] == 1.0 and result.figures["real"]["clips"] == 38
    assert page.is_file() and (page.parent / "real_clips.csv").is_file()
    shutil.rmtree(page.parent)
