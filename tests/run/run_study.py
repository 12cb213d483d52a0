"""The run was made from the wheel alone, in a folder outside the clone: `lookback init study`, then `make report`."""

from pathlib import Path

import pandas as pd
from installed_wheel import Installed, run
from lookback.paths import project_root
from small_run import settings

SHIPPED = {"notebooks": "*.ipynb", "params": "*.yaml"}


def test_a_study_has_the_notebooks_and_parameters_of_the_clone(installed: Installed):
    installed.lookback("init", "another")
    study = installed.folder / "another"
    for folder, pattern in SHIPPED.items():
        ours = {path.name: path.read_bytes() for path in (project_root() / folder).glob(pattern)}
        assert {path.name: path.read_bytes() for path in (study / folder).iterdir()} == ours
    assert sorted(path.name for path in study.iterdir()) == [".gitignore", "Makefile", "README.md", "docs", "notebooks", "params"]
    pages = {path: path.read_bytes() for path in (study / "docs").rglob("*") if path.is_file()}
    assert len(pages) > 20 and all((project_root() / page.relative_to(study)).read_bytes() == text for page, text in pages.items())


def test_lookback_comes_from_the_wheel(installed: Installed):
    code = "import lookback; print(lookback.__file__)"
    found = Path(run([str(installed.bin / "python"), "-c", code], installed.folder, installed.environment).stdout.strip())
    assert found == installed.packages / "lookback" / "__init__.py" and not found.is_symlink()


def test_a_folder_with_files_is_refused_in_one_sentence(installed: Installed, study: Path):
    before = sorted(study.rglob("*"))
    said = installed.lookback("init", "study", fails=2)
    assert said == "lookback: study is not an empty folder; name a new one, for example: lookback init study2\n"
    assert sorted(study.rglob("*")) == before


def test_make_report_scored_every_benchmark_in_it(installed: Installed, study: Path, finished: Path):
    assert "report/wrbench.html" in (finished / "report.html").read_text() and (finished / "report" / "wrbench.html").is_file()
    items = pd.read_parquet(finished / "tables" / "items.parquet")
    assert set(items.loc[items["value"].notna(), "benchmark"]) == {"mbench", "memobench", "wrbench", "mind"}
    chosen = (word for each in settings(finished) for word in ("--set", each))
    assert "nothing to do" in installed.lookback("report", *chosen, folder=study)


def test_make_lists_its_commands(installed: Installed, study: Path):
    said = run(["make"], study, installed.environment).stdout
    assert "make report" in said and "make inspect" in said and "make setup" not in said
