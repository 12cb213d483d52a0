"""Measured figures: each marked block of a page is what its recorded file gives, and those come from what commands left."""

import json
import re
import sys
from pathlib import Path

import pandas as pd
import pytest
from lookback.errors import ContractError

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import commands
import readme

ROOT = Path(__file__).resolve().parents[2]


def test_the_marked_blocks_are_what_the_recorded_files_give():
    marked = set()
    for page in readme.pages():
        text = page.read_text(encoding="utf-8")
        assert readme.filled(text, readme.records()) == text, f"{page.name}: run make readme"
        marked |= {match[2] for match in readme.BLOCK.finditer(text)}
    assert marked == set(readme.SENTENCES) and ROOT / "README.md" in readme.pages()


def test_every_record_names_its_machine_date_and_command():
    records = readme.records()
    assert {"bench", "forensics", "heldout", "setup", "report"} <= set(records)
    for name, record in records.items():
        parts = record["venv"].values() if name == "setup" else [record]
        assert record["command"] and all(part["machine"] and part["date"] and part["commit"] for part in parts), name


def test_the_size_that_make_setup_names_is_the_recorded_one():
    venvs = readme.records()["setup"]["venv"]
    named = dict(re.findall(r"^TAKES_(\w+) := ([\d.]+) GB", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {machine: float(size) for machine, size in named.items()} == {name: venv["gigabytes"] for name, venv in venvs.items()}


def test_a_changed_record_changes_the_block_and_an_unknown_block_is_refused():
    text = (ROOT / "docs" / "forensics.md").read_text(encoding="utf-8")
    records = readme.records()
    records["forensics"]["macro_f1"], records["forensics"]["flagged"] = 0.5, 2
    changed = readme.filled(text, records)
    assert "macro-F1 of 0.50" in changed and f"2 of {records['forensics']['faithful']} faithful clips flagged" in changed
    with pytest.raises(ContractError, match="measured:nonsense"):
        readme.filled("<!-- measured:nonsense -->\n<!-- /measured -->", records)


def test_what_commands_left_in_outputs_is_recorded_with_their_machine(tmp_path):
    row = {"id": "c", "what": "two workers", "ratio": 1.5, "goal": 1.7, "note": ""}
    (tmp_path / "ratios.json").write_text(json.dumps({"rows": [row], "machine": "an abacus", "git": "abc"}))
    tables = tmp_path / "demo" / "tables" / "forensics"
    tables.mkdir(parents=True)
    (tables / "scores.csv").write_text("label,F1\na,1.0\nb,0.5\n")
    (tables / "confusion.csv").write_text("injected,clips,a,b,nothing found\na,3,3,0,0\nb,3,0,1,2\nnone,4,1,0,3\n")
    (tmp_path / "demo" / "provenance.json").write_text(json.dumps({"machine": "an abacus", "git": "abc"}))
    suite = '<testsuites><testsuite tests="9" failures="1" errors="0" skipped="2" time="61.4"/></testsuites>'
    for name in ("tests", "tests_long"):
        (tmp_path / f"{name}.xml").write_text(suite)
    found = dict(readme.collected(tmp_path))
    assert set(found) == {"bench", "forensics", "tests", "tests_long"}
    assert found["bench"]["machine"] == "an abacus" and found["bench"]["rows"] == [row]
    assert {name: found["forensics"][name] for name in ("macro_f1", "clips", "faithful", "flagged")} == {
        "macro_f1": 0.75, "clips": 10, "faithful": 4, "flagged": 1,
    }  # fmt: skip
    for name, command in (("tests", "make test"), ("tests_long", "make test-long")):
        assert f"`{command}`: 9 tests, 1 failed, 2 skipped, in 1 min 1 s." in readme.SENTENCES[name](found[name])
    assert "| (c) two workers | 1.50 | at least 1.7 |" in readme.SENTENCES["bench"](found["bench"])


def test_the_race_is_told_with_both_clocks_the_decode_limit_and_the_load(tmp_path):
    row = {"what": "psnr", "clips": 8, "ours": [10.0, 15.0], "theirs": [45.0, 60.0], "decoding": [5.0, 6.0]}
    row |= {"times faster": [4.5, 4.0], "times decoding": [2.0, 2.5], "differences": {"PSNR": 0.0}}
    found = {"rows": [row], "notes": ["mind: left out"], "load": [1.5, 0.2], "cores": 2, "machine": "an abacus", "git": "abc"}
    (tmp_path / "race.json").write_text(json.dumps(found))
    told = readme.SENTENCES["race"](dict(readme.collected(tmp_path))["race"])
    assert "| psnr | 8 | 10.0 s (15.0 s) | 45.0 s (60.0 s) | 4.5 (4.0) | 5.0 s (6.0 s) | 2.0 (2.5) |" in told
    assert "on an abacus" in told and "load 0.2 to 1.5 on 2 cores" in told and "mind: left out" in told


def test_installs_are_told_with_their_size_and_seconds(tmp_path):
    rows = [{"install": "lookback", "seconds": 31.2, "mib": 812, "packages": 50}]
    rows += [{"install": "lookback[demo]", "seconds": 150.0, "mib": 8192, "packages": 120, "report_seconds": 420.0}]
    (tmp_path / "install.json").write_text(json.dumps({"rows": rows, "machine": "an abacus", "git": "abc"}))
    told = readme.SENTENCES["install"](dict(readme.collected(tmp_path))["install"])
    assert "| `lookback` | 50 | 812 MB | 31 s |  |" in told
    assert "| `lookback[demo]` | 120 | 8.0 GB | 2 min | 7 min |" in told


def test_the_demos_timings_are_recorded_and_told(tmp_path):
    demo = tmp_path / "demo"
    for name in ("stages", "tables"):
        (demo / name).mkdir(parents=True)
    for stage in readme.STAGES:
        (demo / "stages" / f"{stage.name}.json").write_text(json.dumps({"seconds": 60.0}))
    pd.DataFrame({"n_frames": [10, 20]}).to_parquet(demo / "tables" / "clips.parquet")
    (demo / "provenance.json").write_text(json.dumps({"machine": "an abacus", "git": "abc"}))
    found = dict(readme.collected(tmp_path))["report"]
    assert (found["clips"], found["frames"], found["machine"]) == (2, 30, "an abacus")
    # by hand: four stages in a row, two of three side by side, the third, the report
    assert "takes about 7 min for the demo's 2 clips" in readme.SENTENCES["report"](found)
    (demo / "stages" / "audit.json").unlink()
    assert "report" not in dict(readme.collected(tmp_path))


def test_the_readmes_commands_are_read_without_comments_and_told_with_their_seconds(tmp_path):
    text = "```sh\nmake x   # why\nlookback y --z 'a # b'\n```\n```bash\nnot run\n```"
    assert commands.commands(text) == ["make x", "lookback y --z 'a # b'"]
    rows = [{"command": "lookback y", "seconds": 4.25, "processor_seconds": 2.0}]
    rows += [{"command": "lookback z", "seconds": 150.0, "processor_seconds": 40.0}]
    measured = {"rows": rows, "machine": "an abacus", "git": "abc", "load": 1.5, "cores": 2}
    (tmp_path / "commands.json").write_text(json.dumps(measured))
    told = readme.SENTENCES["commands"](dict(readme.collected(tmp_path))["commands"])
    assert "| `lookback y` | 4.2 s | 2.0 s |" in told and "| `lookback z` | 2 min | 40 s |" in told
    assert "load 1.5 on 2 cores" in told
