"""A metric that is typed into a notebook cell, changed there and run again."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import indent

import nbformat
import numpy as np
import pytest
from lookback.media import encode
from nbclient import NotebookClient
from time_limits import HUNG_S

METRIC = """
import lookback
from lookback.registry import metric
from lookback.scoring import Item, Scored

@metric(name="folder.mine", title="Mine", benchmark="folder", unit="", range=(0.0, 9.0), higher_is_better=True, needs=("video",),
        roles=(), equation="a number", source="this notebook")
def mine(context):
    return Scored([Item(OFFSET + level())])
"""
SCORE = "print(*lookback.evaluate('clips', metrics='folder.mine', output='scored').items['value'])"


@pytest.fixture(autouse=True)
def quick_kernels(warm_python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every notebook starts a kernel."""
    monkeypatch.setattr(sys, "executable", warm_python)


@pytest.mark.long
def test_a_cell_may_be_run_again_and_its_metric_is_scored_anew_when_anything_typed_changed(tmp_path: Path) -> None:
    """The metric itself stays; a function of another cell changes, then also a number, and in a new session nothing."""
    encode(tmp_path / "clips" / "m" / "c.mp4", np.full((4, 64, 64, 3), 90, np.uint8), 8.0)
    last = "OFFSET = 4\ndef level():\n    return 3"
    steps = ["OFFSET = 1\ndef level():\n    return 2", "level = [0,\n         lambda: 3][1]", last]  # half a statement
    cells = [cell for step in steps for cell in (step, METRIC, SCORE)]
    keys = "import os; print(sum(len(files) for _, _, files in os.walk('scored/artifacts')))"
    first = printed(tmp_path, [*cells, keys])
    again = printed(tmp_path, [last, METRIC, SCORE, keys])
    assert first[:3] == ["3.0", "4.0", "7.0"] and again == ["7.0", first[3]]


def test_a_name_of_the_package_stays_refused(tmp_path: Path) -> None:
    taken = indent(METRIC.replace("folder.mine", "folder.cuts") + "lookback.registry.METRICS.names()", "    ")
    assert printed(tmp_path, [f"try:{taken}\nexcept ValueError as error:\n    print(error)"]) == [
        "metric 'folder.cuts' is registered twice"
    ]


def printed(folder: Path, cells: list[str]) -> list[str]:
    """The lines that a notebook of these cells prints, run in this folder."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(
        notebook, timeout=HUNG_S, startup_timeout=HUNG_S, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    outputs = [output for cell in notebook.cells for output in cell["outputs"] if output.get("name") == "stdout"]
    return "".join(output["text"] for output in outputs).split("\n")[:-1]
