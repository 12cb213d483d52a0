"""Ids with control characters are refused by every layout and by the votes' reader, and nothing prints one to a terminal."""

import json
import signal
import sys

import pandas as pd
import pytest
from layout_data import BUILDERS
from lookback.agreement import read_ratings
from lookback.cli import main
from lookback.curation.contract import validate
from lookback.errors import ContractError
from lookback.layouts import read
from lookback.names import odd_character, one_line, printable
from lookback.params.stages import Source
from lookback.progress import read_progress, track

ODD = ["\n", "\t", "\x1b[2J", "\x7f", "\x9b31m", "\u202e", "\u2066", "\u2028"]


def renamed(root, path, character):
    target = root / path
    target.rename(target.with_name(target.stem + character + "x" + target.suffix))


def model_of(name, tmp_path, character):
    """A dataset of the layout with one model whose name holds the character, beside a sound one."""
    if name != "folder":
        return BUILDERS[name](tmp_path / "data", models=("sound", f"od{character}d"))
    root = BUILDERS[name](tmp_path / "data")
    renamed(root, "beta", character)
    return root


def manifest_id(root, character):
    path = root / "manifest.json"
    content = json.loads(path.read_text())
    content["videos"][0]["video_id"] += character
    path.write_text(json.dumps(content))


def sample_id(root, character):
    path = root / "models/wan/samples.jsonl"
    first, *rest = path.read_text().splitlines()
    line = json.loads(first)
    line["sample_id"] = f"hu{character}man"
    path.write_text("\n".join([json.dumps(line), *rest]))


CLIPS = {
    "mbench": sample_id,
    "memobench": lambda root, character: (root / "output/wan/Synthetic/Study/Study_001").rename(
        root / f"output/wan/Synthetic/Study/Stu{character}dy_001"
    ),
    "wrbench": lambda root, character: manifest_id(root, character + "x"),
    "mind": lambda root, character: renamed(root, "test_root/minecraft/1st_data/mem_test/hall", character),
    "folder": lambda root, character: renamed(root, "alpha/one.mp4", character),
}


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("character", ODD)
def test_a_model_whose_name_holds_a_control_character_is_refused_and_the_others_stay(tmp_path, name, character):
    reading = read(Source(root=str(model_of(name, tmp_path, character)), layout=name))
    assert reading.clips and not any(odd_character("".join(clip.key)) for clip in reading.clips)
    told = [violation for violation in reading.violations if "control character" in violation.problem]
    assert told and all(violation.field == "model_id" for violation in told)
    assert f"'{one_line(f'od{character}d')}'" in told[0].problem or one_line(f"beta{character}x") in told[0].problem
    assert not any(odd_character(text) for violation in told for text in (violation.line, violation.path, violation.problem))


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("character", ["\n", "\x1b[31m", "\u202e"])
def test_a_clip_whose_id_holds_a_control_character_is_refused(dataset, name, character):
    root = dataset(name)
    before = len(read(Source(root=str(root), layout=name)).clips)
    CLIPS[name](root, character)
    reading = read(Source(root=str(root), layout=name))
    assert 0 < len(reading.clips) < before
    assert not any(odd_character("".join(clip.key)) for clip in reading.clips)
    assert reading.violations and not any(odd_character(violation.line) for violation in reading.violations)


def test_names_in_other_scripts_are_no_offence(tmp_path):
    root = BUILDERS["mbench"](tmp_path / "data", models=("模型 A", "na\u00efve", "\u05d0\u05d1", "a\u200db"))
    assert validate(Source(root=str(root))) == []


@pytest.fixture
def command(monkeypatch, capsys):
    """`lookback ...` as its process runs it: (exit code, standard output, standard error)."""

    def call(*words: str):
        monkeypatch.setattr(sys, "argv", ["lookback", *words])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, *capsys.readouterr()

    interrupted = signal.getsignal(signal.SIGINT)
    yield call
    signal.signal(signal.SIGINT, interrupted)


def test_the_command_line_prints_no_control_character_of_a_dataset(tmp_path, command):
    root = model_of("folder", tmp_path, "\x1b]0;owned\x07\x1b[31m")
    code, printed, _ = command("validate", str(root), "--layout", "folder", "--workers", "1")
    assert code == 1
    assert r"\x1b]0;owned\x07\x1b[31m" in printed
    assert not any(mark in printed for mark in "\x1b\x07")
    code, _, said = command("validate", f"{root}\x1b[31m")
    assert code == 2 and r"\x1b[31m" in said and "\x1b" not in said


def test_progress_prints_no_control_character(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LOOKBACK_PROGRESS_FILE", str(tmp_path / "progress"))
    list(track([1, 2], "clips of a\x1b[31mb", note=lambda: "\x1b]0;x\x07"))
    assert r"a\x1b[31mb" in capsys.readouterr().err
    (tmp_path / "progress").write_text(
        json.dumps(dict.fromkeys(["what", "unit", "note"], "\x1b[2J") | dict.fromkeys(["done", "total", "left_s"], 1))
    )
    assert "\x1b" not in read_progress(tmp_path / "progress")


def test_several_lines_stay_several_lines():
    assert printable("one\ntwo\x1b[1m") == "one\ntwo\\x1b[1m"
    assert one_line("one\ntwo") == "one\\ntwo"


VOTE = {
    "task": "trigger",
    "benchmark": "mbench",
    "dimension": "d",
    "clip_a": "c",
    "model_a": "m",
    "annotator": "ann",
    "label": "yes",
}


@pytest.mark.parametrize("column", ["annotator", "clip_a", "model_a", "dimension", "label"])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".json"])
def test_votes_with_control_characters_are_refused(tmp_path, column, suffix):
    votes = pd.DataFrame([VOTE, {**VOTE, column: "a\x1b[31m\u202eb"}])
    path = tmp_path / f"votes{suffix}"
    if suffix == ".csv":
        votes.to_csv(path, index=False)
    elif suffix == ".parquet":
        votes.to_parquet(path)
    else:
        votes.to_json(path, orient="records", lines=suffix == ".jsonl")
    with pytest.raises(ContractError, match=r"'a\\x1b\[31m\\u202eb' with the control character") as caught:
        read_ratings(path)
    assert not odd_character(str(caught.value))
