"""`make setup` says what went wrong with Python or the CPU-only build of torch, and asks uv for that only when it is wanted.

It works on a machine without a screen's libraries, too.

The container is set up by the same command.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from lookback.paths import project_root


def program(path: Path, *lines: str) -> None:
    path.write_text("\n".join(("#!/bin/sh", *lines)) + "\n")
    path.chmod(0o755)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone whose environment holds a uv that writes down what it is asked for and fails, and a python that does nothing."""
    clone = tmp_path / "a clone"  # with a space in its path, as any user may have
    for name in ("Makefile", "lib/lookback/project/Makefile", "requirements.lock", "pyproject.toml", "params/weights.lock.yaml"):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(project_root() / name, clone / name)
    (clone / ".venv" / "bin").mkdir(parents=True)
    program(clone / ".venv" / "bin" / "uv", 'echo "$VIRTUAL_ENV: $@" > asked', "exit 1")
    program(clone / ".venv" / "bin" / "python", "exit 0")
    return clone


def make(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "TORCH")}
    return subprocess.run(["make", "setup", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_ci_runs_the_long_tests_that_make_test_leaves_out(clone: Path):
    called = [line.split()[1] for line in (project_root() / ".ci" / "run").read_text().splitlines() if line.startswith("make ")]
    assert called == ["lint", "test", "test-long"]
    (clone / ".venv" / ".ready").touch()
    long, others = (
        subprocess.run(["make", "-n", target], cwd=clone, capture_output=True, text=True, check=True).stdout
        for target in ("test-long", "test")
    )
    assert " -m long " in long and ' -m "not long" ' in others
    assert long.replace("-n 4 -m long", '-n 3 -m "not long"').replace("tests_long.xml", "tests.xml") == others


def test_a_failed_cpu_only_build_is_one_sentence_with_the_remedy(clone: Path):
    done = make(clone, "TORCH=cpu")
    assert done.returncode != 0 and "--torch-backend cpu" in (clone / "asked").read_text()
    said = [line for line in done.stdout.splitlines() if "CPU-only" in line]
    assert len(said) == 1 and "run make setup without TORCH" in said[0]
    assert "trying pip" not in done.stdout


def test_without_it_uv_is_asked_as_before_and_pip_is_tried(clone: Path):
    done = make(clone)
    asked = (clone / "asked").read_text()
    assert asked.startswith(f"{clone / '.venv'}: pip install") and "--torch-backend" not in asked
    assert "uv could not install; trying pip" in done.stdout


def test_an_unknown_build_is_a_users_mistake(clone: Path):
    done = make(clone, "TORCH=gpu")
    assert done.returncode == 2 and "TORCH=gpu is not known; say TORCH=cpu" in done.stdout and not (clone / "asked").exists()


def test_a_ready_environment_with_cuda_is_not_mixed_with_another_build(clone: Path):
    program(clone / ".venv" / "bin" / "python", "exit 1")  # "torch has CUDA"
    (clone / ".venv" / ".ready").touch()
    done = make(clone, "TORCH=cpu")
    assert done.returncode == 2 and "rm -rf .venv" in done.stdout and not (clone / "asked").exists()


def test_a_python_that_is_not_here_is_one_sentence(clone: Path):
    shutil.rmtree(clone / ".venv")
    done = make(clone, "PYTHON=python3.99")
    assert done.returncode == 2 and "python3.99 is not here: install it, or name another" in done.stdout


def test_an_environment_without_pip_is_made_again(clone: Path):
    """Debian's Python without python3-venv leaves one behind, and says what to install."""
    program(clone / ".venv" / "bin" / "python", "exit 1")
    program(clone / "installed", 'echo "$@" > made')
    make(clone, "PYTHON=./installed")
    assert (clone / "made").read_text() == "-m venv .venv\n"


def test_a_machine_without_the_library_of_windows_gets_the_opencv_that_needs_none(clone: Path):
    """As servers and small containers are: import cv2 then ends with `libGL.so.1: cannot open shared object file`."""
    program(clone / ".venv" / "bin" / "uv", "exit 0")
    program(clone / ".venv" / "bin" / "jupyter", "exit 0")
    program(clone / ".venv" / "bin" / "python", 'echo "$@" >> asked', 'test "$2" != "import cv2"')
    done = make(clone)
    (pin,) = (line for line in (clone / "requirements.lock").read_text().splitlines() if line.startswith("opencv-python=="))
    asked = (clone / "asked").read_text().splitlines()
    found = asked.index("-c import cv2")
    assert done.returncode == 0 and "taking opencv-python-headless" in done.stdout, done.stderr
    assert asked[found + 1] == "-m pip uninstall --quiet --yes opencv-python opencv-python-headless"
    assert asked[found + 2].endswith(pin.replace("opencv-python", "opencv-python-headless"))


def test_the_container_has_every_file_that_setting_it_up_needs(tmp_path: Path):
    """Its `make setup` is tried as far as it goes without packages: with the copied files alone, and each build of torch."""
    lines = (project_root() / "Dockerfile").read_text().replace("\\\n", "").splitlines()
    for *sources, target in (line.split()[1:] for line in lines if line.startswith("COPY ")):
        for name in sources:
            path = project_root() / name
            place = tmp_path / target / (name if target == "./" else "")
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(path, place, ignore=ignored) if path.is_dir() else shutil.copy(path, place)
    (setup,) = (line for line in lines if "make setup" in line)
    command = setup[setup.index("make setup") :].replace("make", "make --dry-run", 1)
    for torch, expected in (("cpu", "--torch-backend cpu"), ("", "pip install  --compile-bytecode")):
        done = subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, env={**os.environ, "TORCH": torch}, capture_output=True, text=True
        )
        assert done.returncode == 0 and expected in done.stdout, done.stderr
    build = {name: (tmp_path / name).exists() for name in ("setup.py", "README.md", "LICENSE", "notebooks/10_curation.ipynb")}
    assert all(build.values()), build
    kept = (project_root() / ".dockerignore").read_text().split()
    assert {f"!{path.name}" for path in tmp_path.iterdir()} == {line for line in kept if line.startswith("!")}
