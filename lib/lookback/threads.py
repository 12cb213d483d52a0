"""The threads of this process that work on frames: one for each core that OpenCV may use, and the same for all who ask.

OpenCV, numpy, the decoders and the compiled loops release the interpreter lock while they work.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache

_here = threading.local()


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
