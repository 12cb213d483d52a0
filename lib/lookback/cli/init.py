"""`lookback init`: lay out a project."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from lookback.errors import UsageError
from lookback.files import copy_folder, unwritable
from lookback.paths import PAGES, SHIPPED, SHIPPED_FOLDERS, expanded

TEMPLATES = Path(__file__).resolve().parents[1] / "project"
FILES = {"Makefile": "Makefile", "README.md": "README.md", "gitignore": ".gitignore"}  # in the package -> in the project
READ = (".md", ".webp")  # of the pages; in a clone, what makes the site lies beside them


def register(app: typer.Typer) -> None:
    app.command()(init)


def init(folder: Annotated[str, typer.Argument(help="The folder of the project; it must be new or empty.")]) -> None:
    """Lay out a project: notebooks, parameters, pages to read, a Makefile and a README. `make report` then works in it."""
    project = expanded(folder)
    if project.exists() and (not project.is_dir() or any(project.iterdir())):
        free = next(name for number in count(1) if not Path(name := f"study{number if number > 1 else ''}").exists())
        raise UsageError(f"{project} is not an empty folder; name a new one, for example: lookback init {free}")
    try:
        project.mkdir(parents=True, exist_ok=True)
        ours = _known_to_git()
        for name in SHIPPED_FOLDERS:
            copy_folder(SHIPPED / name, project / name, lambda path: not ours or path in ours)
        copy_folder(SHIPPED / PAGES, project / PAGES, lambda path: path.suffix in READ and (not ours or path in ours))
        for name, target in FILES.items():
            shutil.copyfile(TEMPLATES / name, project / target)
    except OSError as error:
        raise unwritable(project, error) from None
    print(f"{project} is ready: cd {shlex.quote(str(project))}, then make report (or lookback report)")


def _known_to_git() -> set[Path]:
    """In a clone, the notebooks, parameters and pages of the package: a user's own may lie beside them. Elsewhere nothing."""
    listing = ["git", "ls-files", "-z", *SHIPPED_FOLDERS, PAGES]
    try:
        listed = subprocess.run(listing, cwd=SHIPPED, capture_output=True, text=True, check=True, timeout=10).stdout
    except (OSError, subprocess.SubprocessError):
        return set()
    return {SHIPPED / name for name in listed.split("\0") if name}
