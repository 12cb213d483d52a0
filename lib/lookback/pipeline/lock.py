"""One run at a time on one output folder. The lock is the kernel's: it is gone when its processes are, however they ended.

A stage's process holds it too, so that one whose runner was killed does not meet the next run at its tables; it ends in moments.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lookback.errors import LookbackError
from lookback.files import writing
from lookback.scratch import sweep

PATIENCE_S = 5.0  # how long the last run's processes may take to notice that it is over


@contextmanager
def run_lock(folder: Path) -> Iterator[int]:
    """Hold the output folder, or say who does. Yields the descriptor that a child process may hold it by.

    What killed runs left in the folder is removed first.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / ".lock").open("a+")
    with handle:
        if not _taken(handle.fileno()):
            handle.seek(0)
            holder = handle.read().strip() or "unknown"
            raise LookbackError(f"Another run (process {holder}) is writing to {folder}; wait for it, or use another RUN name")
        sweep(folder)
        with writing(folder / ".lock"):
            handle.seek(0)
            handle.truncate()
            handle.write(str(os.getpid()))
            handle.flush()
        yield handle.fileno()


def _taken(descriptor: int) -> bool:
    """Whether the lock is ours now; a holder whose runner is gone is waited for."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(0.1)
