"""One whole run of the DAG, through papermill, for every test that looks at what a run leaves behind."""

import sys
from pathlib import Path

import pytest
from lookback.params import RunParams, load_run
from lookback.pipeline import STAGES, Pipeline

sys.path.insert(0, str(Path(__file__).parent))
from small_run import settings

pytest.register_assert_rewrite("run_exports", "run_pipeline", "run_report_page", "run_report_tables")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, warm_python: str) -> Path:
    """The folder of a finished run; who changes something in it puts it back."""
    folder = tmp_path_factory.mktemp("runs") / "small"
    overrides = settings(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", warm_python)  # of the stages' processes and their kernels
        redone = Pipeline(load_run("demo", overrides), "demo", overrides).run()
    assert set(redone) == {stage.name for stage in STAGES}
    return folder


@pytest.fixture(scope="session")
def params(finished: Path) -> RunParams:
    return load_run("demo", settings(finished))
