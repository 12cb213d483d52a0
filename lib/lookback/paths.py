"""Folders and paths. A project folder has `params/` and `notebooks/`; runs go below its `outputs/`."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from lookback.errors import UsageError

# The pipeline sets this variable for the notebooks it runs. Controls are left out there: they do not work in an executed copy
UNATTENDED = "LOOKBACK_UNATTENDED"


# The notebooks, parameters and pages of the package: in a wheel inside it (setup.py puts them there), in a clone beside `lib/`
_INSIDE = Path(__file__).resolve().parent / "project"
SHIPPED = _INSIDE if (_INSIDE / "params").is_dir() else _INSIDE.parents[2]
SHIPPED_FOLDERS = ("notebooks", "params")
PAGES = "docs"  # of which a study gets what people read


def user_folder(variable: str, name: str) -> Path:
    """The folder that the environment variable names, else ~/.cache/lookback/NAME."""
    try:
        return Path(os.environ.get(variable) or Path.home() / ".cache" / "lookback" / name).expanduser()
    except RuntimeError:  # a user without a name and without HOME, as in some containers
        raise UsageError(
            f"There is no home folder that may hold {name}; set HOME or {variable} to a folder that you may write"
        ) from None


def find_project() -> Path | None:
    """The project folder: $LOOKBACK_ROOT, else the nearest folder upwards with params/ and notebooks/, else the clone in use."""
    if given := os.environ.get("LOOKBACK_ROOT"):
        return expanded(given).resolve()
    for folder in [Path.cwd(), *Path.cwd().parents]:
        if all((folder / name).is_dir() for name in SHIPPED_FOLDERS):
            return folder
    return SHIPPED if SHIPPED != _INSIDE and (SHIPPED / "params").is_dir() else None


def project_root() -> Path:
    """The project folder. Outside a project the current folder: outputs are written there."""
    return find_project() or Path.cwd()


def needed_project() -> Path:
    """The project folder, for what cannot work without one."""
    found = find_project()
    if found is None:
        raise UsageError("No lookback project here: `lookback init study` makes one in the folder study; run the command in it")
    return found


def expanded(path: str | Path) -> Path:
    """A path that somebody typed: `~` is the home folder, where the shell left it as it is, too."""
    return Path(os.path.expanduser(path))  # noqa: PTH111, a file may be called ~name, which Path's own refuses


def resolve(path: str | Path) -> Path:
    """A path of a table or parameter file: absolute, below the home folder (`~`), or relative to the project folder.

    Notebooks and parameters that the project does not have are those of the package.
    """
    path = expanded(path)
    if path.is_absolute():
        return path
    own = project_root() / path
    shipped = path.parts[:1] and path.parts[0] in SHIPPED_FOLDERS and not own.exists()
    return SHIPPED / path if shipped and (SHIPPED / path).exists() else own


def portable(path: Path) -> str:
    """A path as tables store it: relative when it lies in the project folder, else absolute."""
    return _below(path, find_project())


def shown(path: str | Path) -> str:
    """A path as messages say it: relative when it lies in the current folder, else absolute."""
    return _below(path, Path.cwd())


def _below(path: str | Path, root: Path | None) -> str:
    path = Path(os.path.abspath(path))
    return path.relative_to(root).as_posix() if root and path.is_relative_to(root) else path.as_posix()


def fixed_folder(pattern: str) -> str:
    """The folders of a pattern before its first field: `poses/` of `poses/{model}/{clip}.npz`."""
    start = pattern.partition("{")[0]
    return start[: start.rfind("/") + 1]


def frozen_file(plan: Path) -> Path:
    """Where `lookback study freeze` records a plan of agreement."""
    return plan.with_name(f"{plan.stem}.frozen.json")


def looks_file(plan: Path) -> Path:
    """Where the analyses of a plan of agreement are counted."""
    return plan.with_name(f"{plan.stem}.looks.jsonl")


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
