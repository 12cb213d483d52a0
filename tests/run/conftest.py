"""One whole run of the DAG, through papermill, for every test that looks at what a run leaves behind.

The wheel makes it, in an environment and a study of its own: what is missing in the wheel is missing in the run. The tests then
read it with the clone, whose code, notebooks and parameters are the same to the byte.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from installed_wheel import Installed, run, shared_wheel
from lookback.params import RunParams, load_run
from lookback.pipeline import STAGES

sys.path.insert(0, str(Path(__file__).parent))
from small_run import settings

pytest.register_assert_rewrite("run_exports", "run_pipeline", "run_report_page", "run_report_tables", "run_study")


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("wheel")
    made = Installed(folder, shared_wheel(tmp_path_factory.getbasetemp()), "demo", "notebooks")
    warm = made.warm_up()
    yield made
    warm.close()


@pytest.fixture(scope="session")
def study(installed: Installed) -> Path:
    installed.lookback("init", "study")
    return installed.folder / "study"


@pytest.fixture(scope="session")
def finished(installed: Installed, study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run; who changes something in it puts it back."""
    folder = tmp_path_factory.mktemp("runs") / "small"
    call = ["make", "report", f"SET={' '.join(settings(folder))}"]
    said = run(call, study, {**installed.environment, "BIN": "elsewhere/"}).stdout  # a variable of the shell does not count
    redone = said.strip().splitlines()[-1].partition(f"{folder}/report.html: redone: ")[2]
    assert set(redone.split(", ")) == {stage.name for stage in STAGES}, said
    return folder


@pytest.fixture(scope="session")
def params(finished: Path) -> RunParams:
    return load_run("demo", settings(finished))
