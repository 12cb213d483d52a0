"""In a container or on a cluster: a user without a name, fewer cores than the machine has, no libraries of a screen."""

import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from lookback import devices, limits, machine
from lookback.errors import Reason
from lookback.extras import why_not_imported
from lookback.params import RunParams
from lookback.paths import project_root
from lookback.reasons import not_scorable


@pytest.mark.parametrize("error", ["KeyError", "OSError"])
def test_a_user_without_a_name_gets_one(error):
    """A container is started with any number as its user; torch, and the desk's list of annotators, ask for the name."""
    code = f"""
import os, pwd
def unknown(number): raise {error}(number)
pwd.getpwuid = unknown
for name in ("LOGNAME", "USER", "LNAME", "USERNAME"): os.environ.pop(name, None)
import lookback, getpass
print(getpass.getuser())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == f"user{os.getuid()}\n", done.stderr


def test_a_user_without_a_home_is_told_what_to_set():
    code = """
import os, pwd, sys
def unknown(number): raise KeyError(number)
pwd.getpwuid = unknown
os.environ.pop("HOME"); os.environ.pop("LOOKBACK_MODELS", None)
from lookback.cli import main
sys.argv = ["lookback", "models", "list"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "set HOME or LOOKBACK_MODELS to a folder" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(("given", "expected"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_waiting_threads_sleep_unless_the_user_wants_otherwise(given: str | None, expected: str):
    """Two runs on one machine would take the cores from each other."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment |= {"OMP_WAIT_POLICY": given} if given else {}
    code = "import os, lookback; print(os.environ['OMP_WAIT_POLICY'])"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{expected}\n"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes are not tied to cores here")
def test_a_process_that_was_given_one_core_uses_one():
    """As clusters give some cores of a large machine to a job; two workers would start a thread for each of the others, too."""
    code = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from lookback.workers import cores_each
print(cores_each())
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "250000 100000\n"}, 3),
        ({"cpu.max": "1000 100000\n"}, 1),
        ({"cpu.max": "max 100000\n"}, 64),
        ({"cpu.max": "9900000 100000\n"}, 64),
        ({"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 64),
        ({}, 64),
    ],
)
def test_a_container_uses_the_cores_that_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], expected: int
):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(limits, "CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert limits.cores() == expected


@pytest.mark.parametrize(("gib", "limit", "expected"), [(64, "max\n", 16), (64, f"{9 * 2**30}\n", 4), (3, "", 1), (1, "", 1)])
def test_a_worker_for_each_core_that_has_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gib: int, limit: str, expected: int
):
    if limit:
        (tmp_path / "memory.max").write_text(limit)
    monkeypatch.setattr(limits, "CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=gib * 2**30))
    monkeypatch.setattr(devices, "cores", lambda: 16)
    assert RunParams(run="r", device="cpu").workers == expected
    assert RunParams(run="r", device="cpu", workers=7).workers == 7


@pytest.mark.parametrize("command", [["list-metrics"], ["doctor"], ["report"]])
def test_an_opencv_that_finds_no_screen_is_a_sentence_with_two_remedies(tmp_path: Path, command: list[str]):
    """What `import cv2` raises where libGL is not installed. The second remedy has the bounds of the package, as on the page."""
    declared = re.search(r'"opencv-python(>=[^"]+)"', (project_root() / "pyproject.toml").read_text())
    assert declared is not None
    headless = f'pip install "opencv-python-headless{declared[1]}"'
    assert headless in (project_root() / "docs" / "faq.md").read_text()
    missing = "libGL.so.1: cannot open shared object file: No such file or directory"
    (tmp_path / "cv2.py").write_text(f"raise ImportError({missing!r}, name='cv2')")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    called = [sys.executable, "-c", "from lookback.cli import main; main()", *command]
    done = subprocess.run(called, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("lookback: The package 'cv2' cannot be loaded: this machine has no libGL.so.1. Install it")
    assert "apt-get install libgl1" in done.stderr and headless in done.stderr
    assert done.stderr.count("\n") == 1


def test_other_failed_imports_keep_their_own_words():
    assert why_not_imported(ImportError("cannot import name 'x' from 'y'", name="y")) is None
    assert why_not_imported(ModuleNotFoundError("No module named 'y'", name="y")) is None
    other = why_not_imported(ImportError("libfoo.so.2: cannot open shared object file: No such file", name="foo._native"))
    assert str(other).startswith("The package 'foo' cannot be loaded: this machine has no libfoo.so.2.")
    assert "opencv" not in str(other)


def test_a_package_that_a_metric_misses_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("lookback.extras.installed", lambda module: module != "torch")
    told = not_scorable(ModuleNotFoundError("No module named 'torch'", name="torch"))
    assert told.reason == Reason.BACKEND_UNAVAILABLE and 'pip install "lookback[models]"' in told.detail
    assert not_scorable(ModuleNotFoundError("No module named 'y'", name="y")).reason == Reason.BACKEND_FAILED


def test_the_opencv_without_a_screen_has_its_version_in_every_table(monkeypatch: pytest.MonkeyPatch):
    def version(name: str) -> str:
        if name == "opencv-python":
            raise PackageNotFoundError(name)
        return {"opencv-python-headless": "5.0.0.93"}[name]

    monkeypatch.setattr(machine, "version", version)
    assert machine.package_version("opencv-python") == "5.0.0.93"
