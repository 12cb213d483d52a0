"""How many cores and how much memory this process may use, and its threads that work on frames: one for each core that OpenCV may
use, and the same for all who ask.

OpenCV, numpy, the decoders and the compiled loops release the interpreter lock while they work.
"""

from __future__ import annotations

import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path

CONTROL_GROUPS = Path("/sys/fs/cgroup")  # a container sees its own limits here
QUOTAS = (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"))  # of today's kernels, and of older ones
MEMORY_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")
_here = threading.local()


def cores() -> int:
    """The cores that this process may use: on a cluster or in a container fewer than the machine has."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, math.ceil(_quota() or allowed)))


def _quota() -> float:
    """The share of time that a container may use, in cores (`docker run --cpus 2`); 0 where there is no limit."""
    for names in QUOTAS:
        try:
            time, period = " ".join((CONTROL_GROUPS / name).read_text() for name in names).split()
        except (OSError, ValueError):
            continue
        return int(time) / int(period) if time not in ("max", "-1") else 0.0
    return 0.0


def memory() -> int:
    """The bytes of memory that this process may use: in a container fewer than the machine has."""
    import psutil

    limits = [psutil.virtual_memory().total]
    for name in MEMORY_LIMITS:
        with suppress(OSError, ValueError):  # `max` where there is no limit
            limits.append(int((CONTROL_GROUPS / name).read_text()))
    return min(limits)


def thread_count() -> int:
    """How many there are. Worker processes limit OpenCV, so that several of them share the cores fairly."""
    import cv2

    return max(1, cv2.getNumThreads())


def thread_pool() -> ThreadPoolExecutor:
    return _pool(thread_count())


def in_thread_pool() -> bool:
    """Whether one of these threads asks: it has one core, and should not wait for others of them."""
    return getattr(_here, "pooled", False)


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="frames", initializer=setattr, initargs=(_here, "pooled", True))
