"""One run at a time on one output folder. The lock is the kernel's: it is gone when its process is, however that ended."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lookback.errors import LookbackError


@contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Hold the output folder, or say who does."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / ".lock").open("a+")
    except OSError as error:
        raise LookbackError(f"Cannot write to {folder}: {error.strerror}; check its permissions and free space") from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            holder = handle.read().strip() or "unknown"
            raise LookbackError(
                f"Another run (process {holder}) is writing to {folder}; wait for it, or use another RUN name"
            ) from None
        handle.seek(0)
        handle.truncate()
        handle.write(str(os.getpid()))
        handle.flush()
        yield
