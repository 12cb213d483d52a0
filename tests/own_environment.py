"""An environment of a test's own, with packages from the index that the environment of the tests does not hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

UV = [sys.executable, "-m", "uv"]


def environment_with(folder: Path, *packages: str) -> Path:
    """The folder of the programs of a fresh environment with these packages; the test is skipped where no index answers."""
    python = folder / "bin" / "python"
    subprocess.run([*UV, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
    done = subprocess.run([*UV, "pip", "install", "--quiet", "--python", str(python), *packages], capture_output=True, text=True)
    if done.returncode and not index_is_reached(python):
        pytest.skip(f"the package index cannot be reached: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return python.parent


def index_is_reached(python: Path) -> bool:
    """Whether the package index answers for one small package."""
    call = [*UV, "pip", "install", "--dry-run", "--refresh", "--python", str(python), "einops"]
    return subprocess.run(call, capture_output=True).returncode == 0
