"""Folders and paths. The project folder is the one with `params/` and `notebooks/`; runs go below `outputs/`."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from lookback.errors import UsageError

# The pipeline sets this variable for the notebooks it runs. Controls are left out there: they do not work in an executed copy
UNATTENDED = "LOOKBACK_UNATTENDED"


def project_root() -> Path:
    """The project folder: $LOOKBACK_ROOT, or the nearest folder upwards that has params/ and notebooks/."""
    if given := os.environ.get("LOOKBACK_ROOT"):
        return Path(given).resolve()
    for folder in [Path.cwd(), *Path.cwd().parents]:
        if (folder / "params").is_dir() and (folder / "notebooks").is_dir():
            return folder
    installed = Path(__file__).resolve().parents[2]
    if (installed / "params").is_dir():
        return installed
    raise UsageError("No lookback project here: run from the cloned folder, or set LOOKBACK_ROOT to it")


def resolve(path: str | Path) -> Path:
    """A path of a table or parameter file: absolute, or relative to the project folder."""
    path = Path(path)
    return path if path.is_absolute() else project_root() / path


def portable(path: Path) -> str:
    """A path as tables store it: relative when it lies in the project folder, else absolute."""
    path = Path(os.path.abspath(path))
    root = project_root()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


@dataclass(frozen=True)
class RunPaths:
    """The folders of one run."""

    root: Path

    @classmethod
    def of(cls, run: str) -> RunPaths:
        return cls(project_root() / "outputs" / run)

    def clear(self, stage: str) -> None:
        """Remove the folders with the stage's name, so that the report shows nothing that was switched off since."""
        for folder in (self.tables / stage, self.figures / stage):
            if folder.is_dir():
                shutil.rmtree(folder)

    @property
    def tables(self) -> Path:
        return self.root / "tables"

    @property
    def figures(self) -> Path:
        return self.root / "figures"

    @property
    def artifacts(self) -> Path:
        return self.root / "artifacts"

    @property
    def notebooks(self) -> Path:
        return self.root / "notebooks"

    @property
    def datasets(self) -> Path:
        return self.root / "datasets"

    @property
    def stages(self) -> Path:
        return self.root / "stages"

    @property
    def report(self) -> Path:
        return self.root / "report.html"

    @property
    def provenance(self) -> Path:
        return self.root / "provenance.json"
