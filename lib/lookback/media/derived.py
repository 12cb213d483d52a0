"""A frame that several users share: what one of them derives from it (a resized copy) serves the others, too."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Any, TypeVar, cast

import numpy as np

T = TypeVar("T")


class SharedFrame(np.ndarray):
    """An array that keeps what was derived from it, for as long as it lives itself. Views and copies of it do not.

    `sizes` are those that it was asked for, as (width, height). The frames of one video share the set: the next will be asked, too.
    """

    sizes: set[tuple[int, int]]
    _derived: dict[Hashable, Future[Any]]
    _lock: Lock

    def __array_finalize__(self, _source: object) -> None:
        self.sizes, self._derived, self._lock = set(), {}, Lock()


def derived(frame: np.ndarray, key: Hashable, make: Callable[[np.ndarray], T]) -> T:
    """make(frame). For a SharedFrame it is made once per key, also when several threads ask at the same time."""
    if not isinstance(frame, SharedFrame):
        return make(frame)
    with frame._lock:
        first = key not in frame._derived
        promise = frame._derived.setdefault(key, Future())
    if first:
        try:
            promise.set_result(make(np.asarray(frame)))
        except BaseException as error:  # those who wait must get it, too
            promise.set_exception(error)
    return cast(T, promise.result())
