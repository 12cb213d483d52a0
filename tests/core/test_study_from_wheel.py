"""From the wheel alone, in an empty folder: `lookback init study`, then `make report`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from installed_wheel import Installed, run, shared_wheel
from lookback.paths import project_root

pytestmark = pytest.mark.slow
SHIPPED = {"notebooks": "*.ipynb", "params": "*.yaml"}
# one task and two models of every dataset, few metrics, and no worker process has to start: every stage runs, and takes seconds
SMALL = (
    "workers=1",
    "curation.world.scale=0.02", "curation.world.width=96", "curation.world.height=64", "audit.enabled=false",
    "scoring.compare_variants=false", "scoring.resamples=100", "scoring.metrics=[memobench.psnr,wrbench.cam_prec]",
)  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("wheel")
    made = Installed(folder, shared_wheel(tmp_path_factory.getbasetemp()), "demo", "notebooks")
    warm = made.warm_up()
    yield made
    warm.close()


@pytest.fixture(scope="module")
def study(installed: Installed) -> Path:
    installed.lookback("init", "study")
    return installed.folder / "study"


def test_the_study_has_the_notebooks_and_parameters_of_the_clone(study: Path):
    for folder, pattern in SHIPPED.items():
        ours = {path.name: path.read_bytes() for path in (project_root() / folder).glob(pattern)}
        assert {path.name: path.read_bytes() for path in (study / folder).iterdir()} == ours
    assert sorted(path.name for path in study.iterdir()) == [".gitignore", "Makefile", "README.md", "notebooks", "params"]


def test_lookback_comes_from_the_wheel(installed: Installed):
    code = "import lookback; print(lookback.__file__)"
    found = Path(run([str(installed.bin / "python"), "-c", code], installed.folder, installed.environment).stdout.strip())
    assert found == installed.packages / "lookback" / "__init__.py" and not found.is_symlink()


def test_a_folder_with_files_is_refused_in_one_sentence(installed: Installed, study: Path):
    before = sorted(study.rglob("*"))
    said = installed.lookback("init", "study", fails=2)
    assert said == "lookback: study is not an empty folder; name a new one, for example: lookback init study\n"
    assert sorted(study.rglob("*")) == before


def test_make_report_runs_every_stage_in_it(installed: Installed, study: Path):
    call = ["make", "report", f"SET={' '.join(SMALL)}"]
    said = run(call, study, {**installed.environment, "BIN": "elsewhere/"}).stdout  # a variable of the shell does not count
    assert "outputs/demo/report.html: redone: curation" in said
    outputs = study / "outputs" / "demo"
    assert (outputs / "report" / "wrbench.html").is_file() and "report/wrbench.html" in (outputs / "report.html").read_text()
    items = pd.read_parquet(outputs / "tables" / "items.parquet")
    assert items["value"].notna().sum() > 0 and set(items["metric"]) == {"memobench.psnr", "wrbench.cam_prec"}
    again = installed.lookback("report", *(word for each in SMALL for word in ("--set", each)), folder=study)
    assert "nothing to do" in again


def test_make_lists_its_commands(installed: Installed, study: Path):
    said = run(["make"], study, installed.environment).stdout
    assert "make report" in said and "make inspect" in said and "make setup" not in said
