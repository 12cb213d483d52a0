"""How many cores and how much memory this process may use: on a cluster or in a container less than the machine has."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

CONTROL_GROUPS = Path("/sys/fs/cgroup")  # a container sees its own limits here
QUOTAS = (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"))  # of today's kernels, and of older ones
MEMORY_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")


def cores() -> int:
    """The cores that this process may use."""
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
    """The bytes of memory that this process may use."""
    import psutil

    limits = [psutil.virtual_memory().total]
    for name in MEMORY_LIMITS:
        with suppress(OSError, ValueError):  # `max` where there is no limit
            limits.append(int((CONTROL_GROUPS / name).read_text()))
    return min(limits)
