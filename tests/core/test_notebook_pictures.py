"""Figures stand in a notebook as pictures, whatever the kernel's settings; lists stand only where somebody sits before it."""

import re
import sys

import matplotlib.pyplot as plt
import nbformat
import pytest
from lookback import figures, notebook
from lookback.notebook import browse
from lookback.paths import UNATTENDED
from lookback.progress import track
from nbclient import NotebookClient
from time_limits import HUNG_S

SHOWN = """
from lookback import figures
from lookback.notebook import show
from matplotlib import pyplot as plt
figure, axes = plt.subplots()
axes.plot([1, 2])
show((figure, "a line"))
"""
OWN = """
from lookback import figures
from matplotlib import pyplot as plt
plt.plot([1, 2])
plt.show()
"""
BROWSED = """
from lookback.notebook import browse
from matplotlib import pyplot as plt
chooser = browse({"first": 1, "second": 2}, lambda number: (plt.figure(), f"number {number} <b>"), "clip")
"""


@pytest.fixture(autouse=True)
def quick_kernels(warm_python: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", warm_python)


def outputs(*cells: str) -> list[dict[str, str]]:
    """What the first cell leaves behind in a fresh kernel once all have run, by kind."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, kernel_name="python3", timeout=HUNG_S, startup_timeout=HUNG_S).execute()
    return [output["data"] for output in notebook.cells[0].outputs if "data" in output]


@pytest.mark.parametrize("backend", ["", "agg"])
def test_a_shown_figure_is_stored_once_as_a_picture(backend: str, monkeypatch: pytest.MonkeyPatch):
    """With the kernel's own drawing backend, and with one that would leave `<Figure size ...>`."""
    monkeypatch.setenv("MPLBACKEND", backend)
    found = outputs(SHOWN)
    assert [("image/png" in data) for data in found] == [True, False] and "a line" in found[1]["text/html"]


def test_importing_the_library_leaves_the_users_own_plots_in_the_notebook(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("MPLBACKEND", raising=False)
    assert any("image/png" in data for data in outputs(OWN))


def test_an_unattended_notebook_holds_the_first_picture_and_no_list(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(UNATTENDED, "1")
    picture, caption = outputs(BROWSED)
    assert "image/png" in picture and "number 1" in caption["text/html"]


def test_before_a_person_a_list_stands_above_the_picture_and_changes_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(UNATTENDED, raising=False)
    chooser, picture, caption = outputs(BROWSED, 'chooser.value = "second"')
    assert "application/vnd.jupyter.widget-view+json" in chooser and "image/png" in picture
    assert "number 2 &lt;b&gt;" in caption["text/html"]


@pytest.mark.filterwarnings("error")
def test_a_picture_has_its_caption_as_text_and_a_sign_without_a_glyph_is_no_warning(monkeypatch: pytest.MonkeyPatch):
    shown: list = []
    monkeypatch.setattr(notebook, "display", shown.append)
    with figures.style():
        figure, axes = plt.subplots()
        axes.set_title("model \N{ROCKET}")
    notebook.show((figure, "a line"))
    assert shown[0].alt == "a line"


def test_nothing_to_choose_from_is_said(capsys: pytest.CaptureFixture):
    assert browse({}, lambda number: (plt.figure(), ""), "clip") is None
    assert "HTML" in capsys.readouterr().out


def test_progress_leaves_one_line_in_an_unattended_notebook(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture):
    monkeypatch.setenv(UNATTENDED, "1")
    assert list(track(range(3), "scoring")) == [0, 1, 2] and list(track([], "drawing")) == []
    shown = capfd.readouterr()
    assert re.fullmatch(r"scoring: 3 clips in \d+ s\n", shown.out) and shown.err == ""
    monkeypatch.delenv(UNATTENDED)
    assert list(track(range(3), "scoring")) == [0, 1, 2]
    assert "3/3" in capfd.readouterr().err
