"""lookback as its user has it: the wheel, in an environment that holds the packages of the chosen extras and no others.

The packages are links to those of the environment in which the tests run, so that nothing is downloaded. Which ones are linked is
read from the wheel: a dependency that is used and not declared is missing there, as it would be for the user.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, PathDistribution, distribution
from pathlib import Path

from lookback.paths import project_root
from packaging.requirements import Requirement
from warm_python import WarmPython

SOURCES = ("lib", "notebooks", "params", "docs", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
OFFLINE = ("--quiet", "--isolated", "--no-index", "--no-deps", "--disable-pip-version-check")


def build_wheel(folder: Path) -> Path:
    """The wheel of this clone, built from a copy, as building leaves files behind."""
    sources = folder / "sources"
    for name in SOURCES:
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        path = project_root() / name
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(path, sources / name, ignore=ignored) if path.is_dir() else shutil.copyfile(path, sources / name)
    run([sys.executable, "-m", "pip", "wheel", *OFFLINE, "--no-build-isolation", "-w", str(folder), str(sources)], folder)
    shutil.rmtree(sources)
    (wheel,) = folder.glob("*.whl")
    return wheel


def shared_wheel(basetemp: Path) -> Path:
    """The wheel of this clone, built once for all test processes."""
    folder = (basetemp.parent if "PYTEST_XDIST_WORKER" in os.environ else basetemp) / "shared-wheel"
    folder.mkdir(exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return next(folder.glob("*.whl"), None) or build_wheel(folder)


class Installed:
    """An environment with the wheel, and a working folder that lies outside the clone."""

    def __init__(self, folder: Path, wheel: Path, *extras: str):
        self.bin, self.folder = folder / "env" / "bin", folder / "empty"
        self.folder.mkdir()
        run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], folder)
        python = str(self.bin / "python")
        run([sys.executable, "-m", "pip", "--python", python, "install", *OFFLINE, str(wheel)], folder)
        (self.packages,) = (folder / "env" / "lib").glob("python*/site-packages")
        (metadata,) = self.packages.glob("lookback-*.dist-info")
        self.linked: set[str] = set()
        self._link_needs(PathDistribution(metadata), extras)

    def warm_up(self) -> WarmPython:
        """From here on its Python, and so its commands and kernels, forks from one that has imported the large libraries."""
        python = self.bin / "python"
        return WarmPython(python.rename(self.bin / "cold-python"), python)

    def _link_needs(self, package: Distribution, extras: Iterable[str]) -> None:
        for text in package.requires or ():
            requirement = Requirement(text)
            asked = [{"extra": extra} for extra in extras] or [{"extra": ""}]
            if requirement.marker and not any(requirement.marker.evaluate(each) for each in asked):
                continue
            if requirement.name == "lookback":  # an extra that consists of others
                self._link_needs(package, requirement.extras)
            elif (key := str(requirement.name) + str(sorted(requirement.extras))) not in self.linked:
                self.linked.add(key)
                self._link(requirement)

    def _link(self, requirement: Requirement) -> None:
        try:
            found = distribution(requirement.name)
        except PackageNotFoundError:  # for another platform; what is really missing fails at its import
            return
        for top in {file.parts[0] for file in found.files or () if not file.parts[0].startswith((".", "/", "__pycache__"))}:
            target = self.packages / top
            if not target.exists():
                target.symlink_to(Path(str(found.locate_file(top))))
        self._link_needs(found, requirement.extras)

    def lookback(self, *arguments: str, fails: int = 0, folder: Path | None = None) -> str:
        """What the command printed, with its errors where it must fail."""
        done = run([str(self.bin / "lookback"), *arguments], folder or self.folder, self.environment, fails)
        return done.stdout + done.stderr if fails else done.stdout

    @property
    def environment(self) -> dict[str, str]:
        """As in a shell in which the environment is active, and nothing points to the clone."""
        hidden = ("PYTHONPATH", "LOOKBACK_ROOT", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL")
        kept = {name: value for name, value in os.environ.items() if name not in hidden}
        return {**kept, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}"}


def run(
    call: list[str], folder: Path, environment: dict[str, str] | None = None, fails: int = 0
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == fails, done.stdout[-2000:] + done.stderr[-4000:]
    return done
