"""What is said of a stage: its own error when it fails while another runs, and the rows that failed when it ends."""

import errno
import io
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
import pandas as pd
import psutil
import pytest
from lookback.errors import Reason, StageError
from lookback.params.load import validate
from lookback.paths import UNATTENDED
from lookback.pipeline import Pipeline, execute, runner, stage_named
from lookback.pipeline.execute import cell_title
from papermill.exceptions import PapermillExecutionError
from rich.console import Console

FAILS = """
import json, sys, time
from pathlib import Path
scratch = Path(sys.argv[1])
while not (scratch / "jupyter" / "0").exists():
    time.sleep(0.02)
(scratch / "agreement.json").write_text(json.dumps({"title": "Votes", "name": "ContractError", "message": "no votes"}))
"""
KERNEL = """
import sys
from itertools import count
from pathlib import Path
folder = Path(sys.argv[1]) / "jupyter"
for number in count():
    folder.mkdir(exist_ok=True, parents=True)
    (folder / str(number % 1000)).write_text("busy")
"""
WORKS = f"import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', {KERNEL!r}, sys.argv[1]])\ntime.sleep(600)"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "system"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_failing_stage_ends_the_other_and_says_why(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch):
    started: list[psutil.Process] = []

    def start(self: Pipeline, stage: runner.Stage, scratch: Path) -> runner.Running:
        script = FAILS if stage.name == "agreement" else WORKS
        process = subprocess.Popen([sys.executable, "-c", script, str(scratch)])
        started.append(psutil.Process(process.pid))
        paths = (scratch / f"{stage.name}.{kind}" for kind in ("json", "log", "progress"))
        return runner.Running(stage, process, *paths, {}, time.monotonic())

    monkeypatch.setattr(runner, "stages_of", lambda *_: [stage_named("agreement"), stage_named("forensics")])
    monkeypatch.setattr(Pipeline, "_start", start)
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    with pytest.raises(StageError, match=r"50_agreement failed in the cell 'Votes': no votes \[ContractError\]"):
        Pipeline(validate({"run": "tiny", "output": str(tmp_path / "run")}, "test"), "tiny", []).run()
    assert len(started) == 2
    assert {process.pid for process in psutil.Process().children(recursive=True)} <= before
    assert writers_of(temporary) == []
    assert list(temporary.iterdir()) == [], "the folder for temporary files is gone"


def test_rows_that_a_broken_model_left_empty_are_said_when_the_stage_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    params, stage = validate({"run": "tiny", "output": str(tmp_path)}, "test"), stage_named("extraction")
    params.paths.tables.mkdir()
    details = ["no [key]", "no [key]", "gone", "clip is short"]
    reasons = [*[Reason.BACKEND_FAILED] * 3, Reason.TOO_SHORT]
    pd.DataFrame({"reason": reasons, "detail": details}).to_parquet(params.paths.tables / "artifacts.parquet")

    def start(self: Pipeline, stage: runner.Stage, scratch: Path) -> runner.Running:
        paths = [scratch / f"{stage.name}.{kind}" for kind in ("json", "log", "progress")]
        paths[0].write_text("{}")
        return runner.Running(stage, subprocess.Popen(["true"]), *paths, {"inputs": {}}, time.monotonic())

    monkeypatch.setattr(runner, "stages_of", lambda *_: [stage])
    monkeypatch.setattr(runner, "write_provenance", lambda *_: None)  # it reads whole tables
    monkeypatch.setattr(Pipeline, "_start", start)
    said = io.StringIO()
    Pipeline(params, "tiny", [], Console(file=said)).run()
    assert re.search(r"20_extraction: done in \d s; 3 row\(s\) failed \(2 with no \[key\]\), the next call tries", said.getvalue())
    assert json.loads((params.paths.stages / "extraction.json").read_text())["failed"] == 3


def test_a_damaged_record_of_another_stage_is_left_out(tmp_path: Path):
    params = validate({"run": "tiny", "output": str(tmp_path)}, "test")
    params.paths.stages.mkdir()
    for stage, text in {"report": "", "audit": "[]", "scoring": '{"seconds": 1}'}.items():
        (params.paths.stages / f"{stage}.json").write_text(text)
    whole = {"fingerprint": {"inputs": {"a": "b"}}, "seconds": 2}
    (params.paths.stages / "curation.json").write_text(json.dumps(whole))
    assert list(Pipeline(params, "tiny", [])._stage_records()) == ["curation"]


def writers_of(folder: Path) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(str(folder) in word for word in process.info["cmdline"] or [])
    ]


def test_without_the_loopback_device_nothing_starts_and_a_sentence_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As in a sandbox without any network (`unshare --net make report`): there the kernel was waited for, ten minutes."""

    def unreachable(self: socket.socket, address: object) -> None:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(socket.socket, "connect", unreachable)
    params = validate({"run": "sandbox", "output": str(tmp_path / "run")}, "test")
    with pytest.raises(StageError, match=r"loopback device, which does not work here \(.*Network is unreachable\); switch it on"):
        Pipeline(params, "sandbox", []).run()
    assert not (tmp_path / "run").exists()


def test_an_error_names_the_heading_above_its_cell(tmp_path: Path):
    cells = [nbformat.v4.new_markdown_cell("## Score\n\nWords about it.\nMore words."), nbformat.v4.new_code_cell("1 / 0")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "n.ipynb")
    assert cell_title(tmp_path / "n.ipynb", 1) == "Score"


def test_a_try_that_fails_lies_beside_the_last_copy_until_the_next_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    output = tmp_path / "70_audit.ipynb"
    failed = tmp_path / "70_audit.failed.ipynb"

    def run_once(source: Path, target: Path, wrong: bool) -> None:
        target.write_text("")  # as when the process is killed here
        assert not output.exists() or output.stat().st_size, "the last copy is whole at every moment"
        cells = [nbformat.v4.new_markdown_cell("## Run the audit"), nbformat.v4.new_code_cell("1 / 0")]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), target)
        if wrong:
            raise PapermillExecutionError(1, 1, "1 / 0", "ZeroDivisionError", "division by zero", [])

    told = []
    monkeypatch.setenv(UNATTENDED, "1")  # which the call sets for its process
    for wrong in (False, True, False):
        run = lambda source, target, wrong=wrong, **_: run_once(source, target, wrong)  # noqa: E731
        monkeypatch.setattr(execute.papermill, "execute_notebook", run)
        before = output.read_bytes() if output.exists() else b""
        told.append(execute.execute("audit", output, "demo", []))
        assert failed.exists() == wrong and (not wrong or output.read_bytes() == before)
        assert sorted(tmp_path.iterdir()) == sorted([output, *[failed] * wrong]) and output.stat().st_mode & 0o777 == 0o644
    words = {"title": "Run the audit", "name": "ZeroDivisionError", "message": f"division by zero (see {failed})"}
    assert told == [{}, words, {}]
