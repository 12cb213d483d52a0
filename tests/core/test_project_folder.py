"""Where files are looked for: in the project folder first, then among those that the package brings."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from lookback import paths
from lookback.cli import init as init_command
from lookback.cli.app import app
from lookback.errors import UsageError
from lookback.params import load_run
from lookback.weights import read_lock
from typer.testing import CliRunner

PINNED = """manual:
  own-model: {source: somewhere, files: {model.pt: null}}
"""


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside every project, with lookback as a wheel installs it: its files lie inside the package."""
    inside = tmp_path / "package" / "project"
    for name in (*paths.SHIPPED_FOLDERS, paths.PAGES):
        (inside / name).parent.mkdir(parents=True, exist_ok=True)
        (inside / name).symlink_to(paths.SHIPPED / name)
    monkeypatch.setattr(paths, "SHIPPED", inside)
    monkeypatch.setattr(paths, "_INSIDE", inside)
    monkeypatch.delenv("LOOKBACK_ROOT", raising=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "elsewhere"


def test_outside_a_project_outputs_go_to_the_current_folder_and_tables_hold_whole_paths(elsewhere: Path):
    assert paths.find_project() is None and paths.project_root() == elsewhere
    assert paths.RunPaths.of("trial").root == elsewhere / "outputs" / "trial"
    assert paths.portable(elsewhere / "clip.mp4") == (elsewhere / "clip.mp4").as_posix()


def test_outside_a_project_the_weights_are_those_of_the_package(elsewhere: Path):
    assert "efficientnet-lite0" in read_lock()
    assert paths.resolve("notebooks/90_report.ipynb").is_file()
    assert paths.resolve("params/no-such.yaml") == elsewhere / "params" / "no-such.yaml"


def test_the_files_of_a_project_come_before_those_of_the_package(elsewhere: Path):
    (elsewhere / "notebooks").mkdir()
    (elsewhere / "params").mkdir()
    (elsewhere / "params" / "weights.lock.yaml").write_text(PINNED)
    assert list(read_lock()) == ["own-model"]
    assert paths.resolve("params/agreement.yaml") == paths.SHIPPED / "params" / "agreement.yaml", "the project has none"
    assert paths.portable(elsewhere / "clip.mp4") == "clip.mp4"


def test_a_run_by_name_needs_a_project_and_a_run_by_file_does_not(elsewhere: Path):
    with pytest.raises(UsageError, match="`lookback init study`"):
        load_run("demo")
    (elsewhere / "trial.yaml").write_text("seed: 8\n")
    assert load_run("trial.yaml").paths.root == elsewhere / "outputs" / "trial"


def test_a_tilde_is_the_home_folder_unless_no_such_user_exists(elsewhere: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(elsewhere.parent))
    assert paths.resolve("~/checkpoint") == elsewhere.parent / "checkpoint"
    assert paths.resolve("~nobody-of-this-name/clip.mp4") == elsewhere / "~nobody-of-this-name" / "clip.mp4"
    assert paths.expanded("~/checkpoint") == elsewhere.parent / "checkpoint"
    assert paths.expanded("~nobody-of-this-name/clip.mp4") == Path("~nobody-of-this-name/clip.mp4")


def test_messages_name_a_path_that_is_there_from_the_current_folder(elsewhere: Path):
    assert paths.shown(elsewhere / "runs" / "curve.csv") == "runs/curve.csv" == paths.shown("runs/curve.csv")
    assert paths.shown(elsewhere.parent / "curve.csv") == (elsewhere.parent / "curve.csv").as_posix() == paths.shown("../curve.csv")


def test_every_page_that_a_study_names_lies_in_it(elsewhere: Path):
    assert CliRunner().invoke(app, ["init", "study"]).exit_code == 0
    study = elsewhere / "study"
    files = [path for path in study.rglob("*") if path.suffix in ("", ".md", ".yaml", ".ipynb") and path.is_file()]
    named = {name for path in files for name in re.findall(r"docs/[\w/]+\.(?:md|webp)", path.read_text(encoding="utf-8"))}
    assert len(named) > 5 and [name for name in named if not (study / name).is_file()] == []


def test_a_new_study_gets_the_files_of_the_package_and_not_those_of_the_user(elsewhere: Path, monkeypatch: pytest.MonkeyPatch):
    clone = elsewhere.parent / "clone"
    for name in ("notebooks/90_report.ipynb", "params/demo.yaml", "params/mine.yaml", "docs/faq.md", "docs/mkdocs.yml"):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(name)
    (clone / "params" / "demo.yaml").chmod(0o444)
    monkeypatch.setattr(init_command, "SHIPPED", clone)
    monkeypatch.setenv("HOME", str(elsewhere))
    done = CliRunner().invoke(app, ["init", "~/without git"])
    assert done.exit_code == 0 and f"cd '{elsewhere}/without git', then" in done.output
    assert (elsewhere / "without git" / "params" / "mine.yaml").is_file(), "nothing says whose files they are"
    for words in (["init"], ["add", "notebooks", "params/demo.yaml", "docs"]):
        subprocess.run(["git", *words], cwd=clone, capture_output=True, check=True)
    assert CliRunner().invoke(app, ["init", "study"]).exit_code == 0
    laid_out = sorted(path.name for path in (elsewhere / "study").rglob("*") if path.is_file())
    assert laid_out == [".gitignore", "90_report.ipynb", "Makefile", "README.md", "demo.yaml", "faq.md"]
    assert (elsewhere / "study" / "params" / "demo.yaml").stat().st_mode & 0o200
    again = CliRunner().invoke(app, ["init", "study"])
    assert isinstance(again.exception, UsageError) and str(again.exception).endswith("for example: lookback init study2")
