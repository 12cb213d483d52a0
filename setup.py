"""Puts the notebooks, parameters and pages of this folder into the wheel; pyproject.toml says everything else."""

import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SHIPPED = ("notebooks/*.ipynb", "params/*.yaml", "docs/*.md", "docs/benchmarks/*.md", "docs/pictures/*.webp")


def shipped() -> list[Path]:
    """What the repository holds: parameters that somebody keeps for own runs stay out. Without a repository, every file."""
    try:
        listed = subprocess.run(["git", "ls-files", *SHIPPED], capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        listed = []
    found = [path for name in listed if (path := Path(name)).exists()]
    return found or [path for pattern in SHIPPED for path in sorted(Path().glob(pattern))]


class BuildWithProject(build_py):
    """Copies the shipped files to `lookback/project`. An editable install reads them where they are."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for path in shipped():
            target = Path(self.build_lib, "lookback", "project", path)
            self.mkpath(str(target.parent))
            self.copy_file(str(path), str(target))


setup(cmdclass={"build_py": BuildWithProject})
