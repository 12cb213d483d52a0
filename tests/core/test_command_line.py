"""The command line: interrupts, and the folder of results that it names."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import lookback
import numpy as np
import psutil
import pytest
from lookback.cli import SENTENCE
from lookback.cli.app import app
from lookback.errors import UsageError
from lookback.media import encode
from lookback.paths import RunPaths
from lookback.pipeline import Pipeline
from time_limits import HUNG_S
from typer.testing import CliRunner


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", ["lookback.cli.app", "typer", "lookback.params", "lookback.errors", "lookback.doctor", "pandas"])
def test_an_interrupt_while_modules_are_imported_shows_no_traceback(module: str, number: signal.Signals):
    code = f"""
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), {number:d})
sys.meta_path.insert(0, Interrupt())
from lookback.cli import main
sys.argv = ["lookback", "doctor"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HUNG_S, check=False)
    assert done.returncode == 128 + number, done.stderr
    assert done.stderr == f"{SENTENCE}\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("work", ["time.sleep(60)", "hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)"], ids=["python", "native"])
def test_a_command_ends_within_three_seconds_of_a_signal_with_the_sentence_and_no_child(work: str, number: signal.Signals):
    code = f"""
import hashlib, subprocess, sys, time
import lookback.cli.app
from lookback.cli import app, main
@app.app.command()
def work():
    child = subprocess.Popen(["sleep", "60"])
    try:
        print(child.pid, flush=True)
        {work}
    finally:
        child.kill()
sys.argv = ["lookback", "work"]
main()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        child = int(process.stdout.readline())
        signalled = time.monotonic()
        process.send_signal(number)
        _, said = process.communicate(timeout=HUNG_S)
    assert (process.returncode, said) == (128 + number, f"{SENTENCE}\n")
    assert time.monotonic() - signalled < 3
    with suppress(psutil.NoSuchProcess):
        while psutil.Process(child).status() != psutil.STATUS_ZOMBIE:  # killed a moment ago
            assert time.monotonic() - signalled < 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_last_moment_of_a_command_does_not_change_how_it_ended(number: signal.Signals):
    code = f"""
import os, sys
class Last:
    def __del__(self, kill=os.kill, process=os.getpid()):
        kill(process, {number:d})
last = Last()
from lookback.cli import main
sys.argv = ["lookback", "--version"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HUNG_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_entry_point_imports_nothing_heavy():
    code = (
        "import sys, lookback.cli; print(*sorted({name.partition('.')[0] for name in sys.modules} & {'typer', 'numpy', 'pandas'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HUNG_S, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("output", ["/out", "/out/deep/er", "outputs/elsewhere"])
def test_an_output_folder_of_any_depth_is_named_at_the_end_of_a_run(output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Pipeline, "run", lambda self, target: ["report"])
    (tmp_path / "trial.yaml").write_text(f"output: {output}\n")
    done = CliRunner().invoke(app, ["report", "--run", str(tmp_path / "trial.yaml")])
    assert (done.exit_code, done.output) == (0, f"{output}/report.html: redone: report\n")


def test_a_folder_of_links_out_of_it_is_refused_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "links").mkdir()
    (tmp_path / "elsewhere.mp4").write_bytes(b"video")
    (tmp_path / "links" / "a.mp4").symlink_to(tmp_path / "elsewhere.mp4")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["eval", "links", "--output", "out", "--workers", "1"])
    problem = "links/a.mp4: path: 'a.mp4' is a symbolic link out of the dataset; copy the file into the dataset folder"
    assert (
        str(done.exception)
        == f"No clip can be used: 1 file that cannot be used, see out/tables/rejected.parquet. The first: {problem}"
    )


def test_a_message_names_a_path_that_is_there_where_the_command_was_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Pipeline, "run", lambda self, target: ["report"])
    (tmp_path / "trial.yaml").write_text("run: trial\n")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["report", "--run", "trial.yaml"])
    assert done.output == f"{RunPaths.of('trial').report}: redone: report\n", "the run lies in the clone, not below this folder"
    monkeypatch.setenv("LOOKBACK_ROOT", str(tmp_path))
    assert CliRunner().invoke(app, ["report", "--run", "trial.yaml"]).output == "outputs/trial/report.html: redone: report\n"


@pytest.fixture
def clips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one clip, in the current folder."""
    monkeypatch.chdir(tmp_path)
    encode(tmp_path / "clips" / "a.mp4", np.full((4, 64, 64, 3), 90, np.uint8), 8.0)
    return tmp_path / "clips"


def refused(*call: str) -> str:
    """What the command says about a wrong call."""
    done = CliRunner().invoke(app, [*call])
    assert isinstance(done.exception, UsageError), done.output
    return str(done.exception)


def test_results_go_neither_into_somebody_elses_folder_nor_into_the_dataset(clips: Path):
    scoring = ("--metrics", "folder.cuts", "--workers", "1")
    mine = clips.parent / "mine"
    mine.mkdir()
    (mine / "scores.csv").write_text("mine")
    for command in ("eval", "prepare"):
        more = scoring if command == "eval" else ("--producer", "pose")
        assert refused(command, "clips", "--output", "mine", *more).startswith("mine holds files that are not of a run")
        assert refused(command, "clips", "--output", "./clips", *more).startswith("clips is the folder of the videos")
    assert [path.name for path in mine.iterdir()] == ["scores.csv"] and [path.name for path in clips.iterdir()] == ["a.mp4"]
    for _ in range(2):  # the folder of a run may be used again, also a copy without its hidden files
        assert CliRunner().invoke(app, ["eval", "clips", "--output", "out", *scoring]).exit_code == 0
        (clips.parent / "out" / ".lock").unlink()


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (("eval", "", "--output", "out"), "source"),
        (("eval", "clips", "--output", ""), "--output"),
        (("eval", "clips", "--output="), "--output"),
        (("validate", ""), "source"),
        (("watch", "clips", "--run", "", "--once"), "--run"),
        (("compare", "a", ""), "runs"),
        (("init", ""), "folder"),
        (("conditions", "check", ""), "folder"),
        (("study", "freeze", ""), "plan"),
    ],
)
def test_an_empty_text_is_no_path(clips: Path, call: tuple[str, ...], what: str):
    assert refused(*call) == f"{what} is empty; write a path or a name there"
    assert [path.name for path in clips.parent.iterdir()] == ["clips"]


def test_the_version_is_printed_without_what_takes_long():
    code = "import sys\nfrom lookback.cli import main\nsys.argv = ['lookback', '--version']\ntry:\n    main()\n"
    code += "finally:\n    print(*sorted({'numpy', 'pandas', 'torch', 'cv2'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HUNG_S, check=True)
    assert done.stdout == f"lookback {lookback.__version__}\n\n"
