"""`lookback init`: lay out a project."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from lookback.errors import UsageError
from lookback.files import copy_folder, unwritable
from lookback.paths import SHIPPED, SHIPPED_FOLDERS

TEMPLATES = Path(__file__).resolve().parents[1] / "project"
FILES = {"Makefile": "Makefile", "README.md": "README.md", "gitignore": ".gitignore"}  # in the package -> in the project


def register(app: typer.Typer) -> None:
    app.command()(init)


def init(folder: Annotated[Path, typer.Argument(help="The folder of the project; it must be new or empty.")]) -> None:
    """Lay out a project: notebooks, parameters, a Makefile and a README. `make report` then works in it."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder; name a new one, for example: lookback init study")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in SHIPPED_FOLDERS:
            copy_folder(SHIPPED / name, folder / name)
        for name, target in FILES.items():
            shutil.copyfile(TEMPLATES / name, folder / target)
    except OSError as error:
        raise unwritable(folder, error) from None
    print(f"{folder} is ready: cd {folder}, then make report (or lookback report)")
