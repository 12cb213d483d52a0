"""Puts the notebooks and parameters of this folder into the wheel; pyproject.toml says everything else."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SHIPPED = ("notebooks/*.ipynb", "params/*.yaml")


class BuildWithProject(build_py):
    """Copies the shipped files to `lookback/project`. An editable install reads them where they are."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for path in (path for pattern in SHIPPED for path in sorted(Path().glob(pattern))):
            target = Path(self.build_lib, "lookback", "project", path)
            self.mkpath(str(target.parent))
            self.copy_file(str(path), str(target))


setup(cmdclass={"build_py": BuildWithProject})
