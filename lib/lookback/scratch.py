"""Temporary files and folders, and how those of killed processes go away.

Each is named `.<what for>.<process>-<random>.part` and lies beside its target, or in the system's folder for temporary files. Its
maker holds a lock on it. The kernel lets go of a lock when its process ends, however it ends, so whatever nobody holds was left
behind and `sweep` may remove it. Process numbers would not do: they are given out again, and another machine has its own.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

LEFT = re.compile(r"^\..*\.\d+-[0-9a-f]{8}\.part(\.[^.]+)?$")
LONGEST_NAME = 60  # bytes of the target's name: file systems allow 255 for the whole


@contextmanager
def part_file(target: Path, suffix: str = "") -> Iterator[Path]:
    """An empty file beside the target, for its content. Who is done moves it onto the target; else it is removed."""
    path, lock = _make(target, suffix)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        os.close(lock)


@contextmanager
def part_folder(target: Path, mode: int = 0o755) -> Iterator[Path]:
    """The same for a folder."""
    path, lock = _make(target, "", mode)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


@contextmanager
def scratch_folder(what: str = "lookback") -> Iterator[Path]:
    """A folder of this process alone, in the system's place for temporary files."""
    with part_folder(Path(tempfile.gettempdir()) / what, mode=0o700) as folder:
        yield folder


def sweep(folder: Path) -> None:
    """Remove what killed processes left anywhere below the folder, beside it, and in the system's place for temporary files."""
    places = {folder.parent, Path(tempfile.gettempdir())}
    found = [path for place in places if place.is_dir() for path in place.iterdir()]
    for place, folders, files in os.walk(folder):
        found += [Path(place, name) for name in (*folders, *files) if name.startswith(".")]
        folders[:] = [name for name in folders if not LEFT.match(name)]
    for path in found:
        if LEFT.match(path.name):
            _remove_if_left(path)


def _make(target: Path, suffix: str, folder_mode: int | None = None) -> tuple[Path, int]:
    """A new file or folder and the descriptor that holds its lock. A sweep may come between the two: then another is made."""
    target.parent.mkdir(parents=True, exist_ok=True)
    name = os.fsencode(target.name)[:LONGEST_NAME].decode(errors="ignore")
    while True:
        path = target.with_name(f".{name}.{os.getpid()}-{token_hex(4)}.part{suffix}")
        if folder_mode is None:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        else:
            path.mkdir(folder_mode)
            descriptor = os.open(path, os.O_RDONLY)
        if _lock(descriptor) is not False and path.exists():
            return path, descriptor
        os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Whether the lock is ours now; None where the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _remove_if_left(path: Path) -> None:
    with suppress(OSError):  # gone meanwhile, or not ours to remove
        folder = stat.S_ISDIR(path.lstat().st_mode)
        descriptor = os.open(path, (os.O_RDONLY if folder else os.O_RDWR) | os.O_NOFOLLOW)
        try:
            if _lock(descriptor):
                shutil.rmtree(path, ignore_errors=True) if folder else path.unlink()
        finally:
            os.close(descriptor)
