"""A stage that fails while another runs: the error is the stage's own, and nothing of the other is left."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
import psutil
import pytest
from lookback.errors import StageError
from lookback.params.load import validate
from lookback.pipeline import Pipeline, runner, stage_named
from lookback.pipeline.execute import cell_title

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


def writers_of(folder: Path) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(str(folder) in word for word in process.info["cmdline"] or [])
    ]


def test_an_error_names_the_heading_above_its_cell(tmp_path: Path):
    cells = [nbformat.v4.new_markdown_cell("## Score\n\nWords about it.\nMore words."), nbformat.v4.new_code_cell("1 / 0")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "n.ipynb")
    assert cell_title(tmp_path / "n.ipynb", 1) == "Score"
