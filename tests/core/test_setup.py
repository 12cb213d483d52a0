"""`make setup` says what went wrong with the CPU-only build of torch, and asks uv for it only when it is wanted."""

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
    for name in ("Makefile", "requirements.lock", "pyproject.toml", "params/weights.lock.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(project_root() / name, tmp_path / name)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    program(tmp_path / ".venv" / "bin" / "uv", 'echo "$@" > asked', "exit 1")
    program(tmp_path / ".venv" / "bin" / "python", "exit 0")
    return tmp_path


def make(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "TORCH")}
    return subprocess.run(["make", "setup", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_failed_cpu_only_build_is_one_sentence_with_the_remedy(clone: Path):
    done = make(clone, "TORCH=cpu")
    assert done.returncode != 0 and "--torch-backend cpu" in (clone / "asked").read_text()
    said = [line for line in done.stdout.splitlines() if "CPU-only" in line]
    assert len(said) == 1 and "run make setup without TORCH" in said[0]
    assert "trying pip" not in done.stdout


def test_without_it_uv_is_asked_as_before_and_pip_is_tried(clone: Path):
    done = make(clone)
    assert "--torch-backend" not in (clone / "asked").read_text() and "uv could not install; trying pip" in done.stdout


def test_an_unknown_build_is_a_users_mistake(clone: Path):
    done = make(clone, "TORCH=gpu")
    assert done.returncode == 2 and "TORCH=gpu is not known; say TORCH=cpu" in done.stdout and not (clone / "asked").exists()


def test_a_ready_environment_with_cuda_is_not_mixed_with_another_build(clone: Path):
    program(clone / ".venv" / "bin" / "python", "exit 1")  # "torch has CUDA"
    (clone / ".venv" / ".ready").touch()
    done = make(clone, "TORCH=cpu")
    assert done.returncode == 2 and "rm -rf .venv" in done.stdout and not (clone / "asked").exists()
