"""Where the seconds of a clip's scoring go."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

Spent = defaultdict[str, float]  # name -> seconds


@contextmanager
def clocked(spent: Spent, name: str) -> Iterator[None]:
    """Add the time of the block to `name`."""
    started = time.perf_counter()
    try:
        yield
    finally:
        spent[name] += time.perf_counter() - started
