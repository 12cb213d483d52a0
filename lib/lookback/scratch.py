"""Temporary files and folders, and the removal of those that killed processes left.

Each is named `.<what for>.<process>-<random>.part` and lies beside its target, or in the system's folder for temporary files. The
process that makes it holds a lock on it. The kernel releases the lock when that process ends. So a file without a lock
was left behind, and `sweep` may remove it. Process numbers would not work: they are reused.
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
    """Yield an empty file beside the target. The caller moves it to the target when it is complete; otherwise it is removed."""
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
    """Yield a private folder in the system's folder for temporary files."""
    with part_folder(Path(tempfile.gettempdir()) / what, mode=0o700) as folder:
        yield folder


def sweep(folder: Path) -> None:
    """Remove what killed processes left below the folder, beside it, and in the system's folder for temporary files."""
    places = {folder.parent, Path(tempfile.gettempdir())}
    found = [path for place in places if place.is_dir() for path in place.iterdir()]
    for place, folders, files in os.walk(folder):
        found += [Path(place, name) for name in (*folders, *files) if name.startswith(".")]
        folders[:] = [name for name in folders if not LEFT.match(name)]
    for path in found:
        if LEFT.match(path.name):
            _remove_if_left(path)


def _make(target: Path, suffix: str, folder_mode: int | None = None) -> tuple[Path, int]:
    """Make and lock a file or folder; returns path and locked descriptor. Tried again if a sweep removes it first."""
    target.parent.mkdir(parents=True, exist_ok=True)
    name = os.fsencode(target.name)[:LONGEST_NAME].decode(errors="ignore")
    while True:
        path = target.with_name(f".{name}.{os.getpid()}-{token_hex(4)}.part{suffix}")
        if folder_mode is None:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        else:
            path.mkdir(folder_mode)
            try:
                descriptor = os.open(path, os.O_RDONLY)
            except FileNotFoundError:
                continue
        if _lock(descriptor) is not False and path.exists():
            return path, descriptor
        os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Try to lock; True if this process has the lock now. None where the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _remove_if_left(path: Path) -> None:
    with suppress(OSError):  # already removed, or no permission
        folder = stat.S_ISDIR(path.lstat().st_mode)
        descriptor = os.open(path, (os.O_RDONLY if folder else os.O_RDWR) | os.O_NOFOLLOW)
        try:
            if _lock(descriptor):
                shutil.rmtree(path, ignore_errors=True) if folder else path.unlink()
        finally:
            os.close(descriptor)
