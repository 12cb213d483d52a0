"""`lookback parity`: a made-up released program runs in a child; the table says what is equal, what differs, what cannot run."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lookback.benchmark import Benchmark
from lookback.cli.app import app
from lookback.parity import ParityRow, Released, run_released
from lookback.registry import BENCHMARKS
from time_limits import HUNG_S, wait_for_the_end_of
from typer.testing import CliRunner

PROGRAM = """
import numpy as np
def score(frames, offset): return float(np.mean(frames)) + offset
def broken(): raise RuntimeError("no weights\\nhere")
def nothing(): return None
"""
DRIVER = """
from scores import score, broken, nothing
give("mean", score(inputs["frames"], inputs["offset"]))
attempt("broken", broken)
attempt("nothing", nothing)
give("per frame", [score(frame, 0) if number else None for number, frame in enumerate(inputs["frames"])])
"""


@pytest.fixture
def peer(tmp_path: Path) -> Path:
    """A checkout whose program lies in the folder `src`."""
    (tmp_path / "checkout" / "src").mkdir(parents=True)
    (tmp_path / "checkout" / "src" / "scores.py").write_text(PROGRAM)
    return tmp_path / "checkout"


def released(peer: Path, driver: str = DRIVER, **options: float) -> Released:
    return run_released(peer, driver, {"frames": np.array([[1.0, 3.0], [5.0, 7.0]]), "offset": 0.5}, folders=("src",), **options)


def test_the_released_program_runs_in_a_child_and_leaves_its_folder_as_it_was(peer: Path):
    given = released(peer)
    assert given.number("mean") == 4.5 and given.note("mean") == ""
    assert given.number("broken") is None and given.note("broken") == "RuntimeError: no weights here"
    assert math.isnan(given.number("nothing"))
    np.testing.assert_array_equal(given.arrays["per frame"], [np.nan, 6.0])
    assert given.note("never asked") == "the driver gave no value 'never asked'"
    assert [path.name for path in (peer / "src").iterdir()] == ["scores.py"]


@pytest.mark.parametrize(
    ("driver", "says"),
    [
        ("import a_package_that_nobody_has", "ModuleNotFoundError: No module named 'a_package_that_nobody_has'"),
        ("give('mean', 1.0)\nimport os; os._exit(3)", "the child process ended with 3"),
        ("give('mean', object())", "TypeError"),
    ],
)
def test_an_error_of_the_released_program_becomes_a_note(peer: Path, driver: str, says: str):
    given = released(peer, driver)
    assert not given.arrays
    assert says in given.note("mean")


def test_what_was_given_before_an_error_is_kept(peer: Path):
    given = released(peer, "give('mean', 2)\nraise KeyError('late')")
    assert given.number("mean") == 2.0
    assert given.note("other") == "KeyError: 'late'"


def test_a_released_program_that_hangs_is_ended_with_its_children(peer: Path, tmp_path: Path):
    number, hang = tmp_path / "number", f"import time; time.sleep({2 * HUNG_S})"
    start = f"child = subprocess.Popen([sys.executable, '-c', {hang!r}])\nopen({str(number)!r}, 'w').write(str(child.pid))"
    for limit in (1.5, 15, 150):  # a crowded machine may take longer to start the child
        given = released(peer, f"import subprocess, sys\n{start}\n{hang}", time_limit_s=limit)
        assert given.note("mean") == f"the released program did not end within {limit:g} s"
        if number.exists() and number.read_text():
            break
    wait_for_the_end_of(int(number.read_text()))


def test_a_folder_that_the_checkout_does_not_have_is_named(tmp_path: Path):
    assert run_released(tmp_path, "", folders=("src",)).note("mean") == f"{tmp_path} has no folder 'src'"


@pytest.mark.parametrize(
    ("ours", "theirs", "tolerance", "verdict"),
    [
        (1.0, 1.0, 0.0, "equal"),
        (1.0, 1.0 + 1e-6, 1e-5, "equal"),
        (1.0, 1.1, 1e-5, "differs"),
        (math.inf, math.inf, 0.0, "equal"),
        (math.inf, 99.0, 1.0, "differs"),
        (math.nan, math.nan, 0.0, "equal"),
        (math.nan, 1.0, 9.0, "differs"),
        (1.0, None, 0.0, "differs"),
        (None, math.nan, 0.0, "equal"),
    ],
)
def test_the_verdict_of_a_row(ours: float | None, theirs: float | None, tolerance: float, verdict: str):
    row = ParityRow("metric", "case", ours, theirs, tolerance)
    assert row.verdict == verdict
    if None in (ours, theirs):
        assert replace(row, note="no weights").verdict == "cannot run"


class MadeUp(Benchmark):
    """A benchmark whose released program is the one above; the clips folder, if given, makes our number wrong."""

    name = "madeup"
    title = "Made up"

    def parity(self, peer: Path, clips: Path | None) -> Iterator[ParityRow]:
        given = released(peer)
        yield given.row("madeup.mean", "four numbers", 4.5 if clips is None else 4.0, "mean", 1e-9)
        yield given.row("madeup.broken", "four numbers", 1.0, "broken")
        yield given.row("madeup.nothing", "four numbers", math.nan, "nothing")


@pytest.fixture
def madeup(monkeypatch: pytest.MonkeyPatch) -> None:
    BENCHMARKS.names()
    monkeypatch.setitem(BENCHMARKS._entries, "madeup", MadeUp())


@pytest.mark.usefixtures("madeup")
def test_the_command_prints_every_number_and_says_what_could_not_run(peer: Path):
    done = CliRunner().invoke(app, ["parity", "madeup", "--peer", str(peer)])
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0].split() == ["metric", "case", "ours", "theirs", "difference", "tolerance", "verdict"]
    assert lines[1].split() == ["madeup.mean", "four", "numbers", "4.5", "4.5", "0.0e+00", "1e-09", "equal"]
    assert lines[2].endswith("cannot run: RuntimeError: no weights here")
    assert lines[3].split() == ["madeup.nothing", "four", "numbers", "none", "none", "-", "0", "equal"]
    assert lines[-1] == "2 equal, 1 cannot run"


@pytest.mark.usefixtures("madeup")
def test_a_difference_is_exit_1_and_stands_in_the_json(peer: Path, tmp_path: Path):
    done = CliRunner().invoke(app, ["parity", "madeup", "--peer", str(peer), "--clips", str(tmp_path), "--json"])
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert told["counts"] == {"differs": 1, "cannot run": 1, "equal": 1}
    assert told["rows"][0] == {
        "metric": "madeup.mean", "case": "four numbers", "ours": 4.0, "theirs": 4.5, "difference": -0.5,
        "tolerance": 1e-9, "verdict": "differs", "note": "",
    }  # fmt: skip
    assert told["rows"][2]["ours"] == "nan"


@pytest.mark.usefixtures("madeup")
@pytest.mark.parametrize(
    ("call", "says"),
    [
        (["nobody", "--peer", "."], "There is no benchmark 'nobody'"),
        (["madeup", "--peer", "no/such/place"], "--peer no/such/place is not a folder"),
        (["madeup", "--peer", ".", "--clips", "gone"], "--clips gone is not a folder"),
        (["folder", "--peer", "."], "There is no released program to compare folder with"),
        (["madeup"], "--peer"),
    ],
)
def test_a_wrong_call_is_exit_2(call: list[str], says: str):
    from lookback.errors import UsageError

    done = CliRunner().invoke(app, ["parity", *call])
    error = done.exception
    assert (error.exit_code if isinstance(error, UsageError) else done.exit_code) == 2
    assert says in (str(error) if isinstance(error, UsageError) else done.output)


@pytest.mark.usefixtures("madeup")
def test_the_help_names_the_benchmarks_that_can_be_compared():
    done = CliRunner().invoke(app, ["parity", "--help"])
    assert "madeup" in done.output and "{compared}" not in done.output
