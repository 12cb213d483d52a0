"""A lock that allows one run at a time on an output folder. The kernel releases it when its processes end for any reason.

A stage's process holds it too. After its runner is killed it still needs a moment to end, and the next run must not start before.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lookback.errors import LookbackError, UsageError
from lookback.files import make_folder, writing
from lookback.paths import shown
from lookback.scratch import sweep

PATIENCE_S = 5.0  # how long the processes of the last run may take to end
LOCK = ".lock"  # stays in the folder after the run
MARKS = (LOCK, "tables/clips.parquet")  # a folder with one of them is that of a run; a copy may lack hidden files


class Locked(LookbackError):
    """Another process, the `holder`, has locked the folder."""

    def __init__(self, holder: str, message: str):
        super().__init__(message)
        self.holder = holder


def claim(folder: Path) -> None:
    """Mark a folder as that of a run. One that holds something else is refused: results would overwrite files of the same name."""
    if folder.is_dir() and any(folder.iterdir()) and not any((folder / mark).exists() for mark in MARKS):
        raise UsageError(
            f"{shown(folder)} holds files that are not of a run, and a run could overwrite them; name a new or empty folder"
        )
    make_folder(folder)
    with writing(folder / LOCK):
        (folder / LOCK).touch()


@contextmanager
def run_lock(folder: Path) -> Iterator[int]:
    """Lock the output folder, or raise an error that names the process that holds it. Yields the descriptor for child processes.

    Temporary files of killed runs are removed first.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / LOCK).open("a+")
    with handle:
        if not _acquire(handle.fileno()):
            handle.seek(0)
            holder = handle.read().strip() or "unknown"
            other = "wait for it, or use another folder (--output) or run (RUN)"
            raise Locked(holder, f"Another run (process {holder}) is writing to {folder}; {other}")
        sweep(folder)
        with writing(folder / LOCK):
            handle.seek(0)
            handle.truncate()
            handle.write(str(os.getpid()))
            handle.flush()
        yield handle.fileno()


def _acquire(descriptor: int) -> bool:
    """Try to lock, and wait a while for processes of a run that has just ended. True if this process has the lock now."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(0.1)
