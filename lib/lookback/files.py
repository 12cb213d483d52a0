"""Atomic writes and content hashes."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lookback.errors import FULL_DISK, CannotWrite, LookbackError
from lookback.scratch import part_file

LITTLE_ROOM = 2**20  # with fewer free bytes, a disk error of a database means that the disk is full


@contextmanager
def atomic_path(target: Path, suffix: str | None = None, mode: int = 0o644) -> Iterator[Path]:
    """Yield a temporary path in the target's folder. After success it is synced and renamed to the target, else it is removed.

    The temporary name has the target's suffix, unless `suffix` is given. `mode` sets the permissions; with 0o600 no other user can
    read the file at any moment.
    """
    with writing(target), part_file(target, target.suffix if suffix is None else suffix) as temporary:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(mode)
        temporary.replace(target)


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn a disk error inside the block into one sentence that names the file."""
    try:
        yield
    except OSError as error:
        raise unwritable(target, error) from error


def make_folder(folder: Path) -> None:
    """Make a folder for results, or say in one sentence why it cannot be made."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def locked(path: Path, wait: bool = True) -> Iterator[None]:
    """Only one writer of this file at a time, in all processes. Without `wait`, a second writer gets an error."""
    make_folder(path.parent)
    beside = path.with_name(f".{path.name}.lock")
    with writing(beside):
        lock = beside.open("a")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise LookbackError(f"Another process is writing {path}; wait until it has ended") from None
        yield


def unwritable(target: Path, error: OSError) -> CannotWrite:
    """The error for a file that could not be written: what happened, where, and what to do."""
    if error.errno in FULL_DISK:
        folder = next((place for place in target.absolute().parents if place.is_dir()), Path("/"))
        free = shutil.disk_usage(folder).free / 1e6
        return CannotWrite(
            f"Cannot write {target}: {os.strerror(error.errno)}, {free:.1f} MB free; make room there and start again, "
            "finished work is kept"
        )
    file = next((place for place in (target, *target.parents) if place.is_file()), None)
    if isinstance(error, (FileExistsError, NotADirectoryError)) and file is not None:
        return CannotWrite(f"Cannot write {target}: {file} is a file; name a folder")
    # errors of pyarrow carry no strerror
    return CannotWrite(f"Cannot write {target}: {error.strerror or error}; check the folder's permissions and free space")


def raise_if_disk_failed(path: Path, error: Exception) -> None:
    """Tell a full disk from a damaged database. SQLite does not pass on the error of the system."""
    import sqlite3  # whoever has such an error has it already

    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        full = code == sqlite3.SQLITE_FULL or shutil.disk_usage(path.parent).free < LITTLE_ROOM
        raise unwritable(path, OSError(errno.ENOSPC if full else errno.EIO, str(error))) from error


def copy_folder(source: Path, target: Path, wanted: Callable[[Path], bool] = lambda path: True) -> None:
    """Copy the wanted files into a folder that may be there already; hidden files and caches stay behind.

    So do the permissions: a copy of read-only files can be written.
    """
    for path in source.iterdir():
        if path.name.startswith(".") or path.name == "__pycache__":
            continue
        if path.is_dir():
            copy_folder(path, target / path.name, wanted)
        elif wanted(path):
            make_folder(target)
            shutil.copyfile(path, target / path.name)


def made_from(folder: Path, owner: object, source: object, suffix: str) -> Path:
    """The place of a file that is made from `source` for `owner`. What the owner had from another source is removed."""
    start = sha256_json(owner)[:16]
    target = folder / f"{start}-{sha256_json(source)[:16]}{suffix}"
    for old in set(folder.glob(f"{start}-*{suffix}")) - {target}:
        old.unlink(missing_ok=True)
    return target


def write_bytes(target: Path, content: bytes) -> None:
    with atomic_path(target) as temporary:
        temporary.write_bytes(content)


def write_text(target: Path, content: str) -> None:
    write_bytes(target, content.encode())


def write_json(target: Path, value: object) -> None:
    write_text(target, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")


def sha256_file(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def sha256_json(value: object) -> str:
    """Hash of a value's canonical JSON."""
    return hashlib.sha256(
        json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str).encode()
    ).hexdigest()
