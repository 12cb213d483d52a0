"""One thread each: `make test` spreads the files over processes, and sums of two threads are not the same to the last bit."""

import compileall
import gc
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import lookback.without_iri_grammar
import pytest
from hypothesis import HealthCheck, settings
from warm_python import WarmPython

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# on a crowded machine a process may stand still for a second: slow is not wrong
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# files and folders that come first, the longest before all: nobody is left alone with a file of minutes at the end
FIRST = (
    "test_run", "selfcheck", "test_killed_stages", "plugins", "runners", "ray", "browser", "parity", "test_core_imports", "faults",
)  # fmt: skip
# what `make test-fast` leaves out beside the tests marked `long`
SLOW = (
    "agreement", "api", "backends", "demo", "extraction", "faults", "forensics", "fuzz", "masks", "parity", "plugins", "ray", "run",
    "selfcheck",
)  # fmt: skip
SLOW_FILES = (
    "test_checkpoints", "test_corruptions", "test_eval_of_judged_metrics", "test_few_clusters",
    "test_generate", "test_hostile_server", "test_many_runs", "test_mbench_entries", "test_notebook_pictures", "test_odd_names",
    "test_own_rows_beside_printed", "test_plain_folder", "test_published_report", "test_recording", "test_runner", "test_setup",
    "test_stage", "test_streaming_memory", "test_transformers_judge", "test_video_encoder",
)  # fmt: skip


gc.disable()  # until all tests are collected: millions of objects are made then, and none of them is garbage

# pytest rewrites every test file, which takes half a minute; the next process and the next run read what the first one wrote
sys.dont_write_bytecode = False


def pytest_configure(config: pytest.Config) -> None:
    """The programs that tests start find compiled code, also where Python was told to write none (hundreds of starts)."""
    if hasattr(config, "workerinput"):
        sys.executable = config.workerinput["python"]
        multiprocessing.set_executable(config.workerinput["warm_python"])  # of the pools of worker processes
        return
    compileall.compile_dir(Path(lookback.__file__).parent, quiet=2)
    if getattr(config.option, "numprocesses", None):
        shared = SharedPython()
        config.pluginmanager.register(shared)
        config.option.tx = [f"popen//python={shared.warm.program}"] * len(config.option.tx)
        gc.enable()  # this process collects no tests


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: nobody looks through it for garbage again."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def warm_python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A program like Python itself that starts at once: all processes of `make test` share one (tests/warm_python.py)."""
    shared = getattr(request.config, "workerinput", {}).get("warm_python")
    own = None if shared else WarmPython(Path(sys.executable), tmp_path_factory.mktemp("warm") / "python")
    program = str(own.program) if own else shared
    subprocess.run([program, "-c", ""], check=True)  # time limits of tests begin when it is ready
    yield program
    if own:
        own.close()


class SharedPython:
    """With xdist, the process that spreads the tests starts the warm Python, as it is the last to end.

    The processes that run the tests fork from it, too: each of them imports what all tests together need.
    """

    def __init__(self) -> None:
        self.warm = WarmPython(Path(sys.executable), Path(tempfile.mkdtemp(prefix="warm")) / "python")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: object) -> None:
        node.workerinput |= {"warm_python": str(self.warm.program), "python": sys.executable}  # type: ignore[attr-defined]

    def pytest_unconfigure(self) -> None:
        self.warm.close()
        self.warm.program.unlink()
        self.warm.program.parent.rmdir()


def is_slow(path: Path) -> bool:
    return path.parent.name in SLOW or path.stem in SLOW_FILES


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`make test-fast` does not even import the slow files: importing models takes longer than many tests."""
    return True if config.option.markexpr.startswith("not slow") and is_slow(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(
        key=lambda item: min(FIRST.index(name) if name in FIRST else len(FIRST) for name in (item.path.stem, item.path.parent.name))
    )
    for item in items:
        if is_slow(item.path) or item.get_closest_marker("long"):
            item.add_marker(pytest.mark.slow)
