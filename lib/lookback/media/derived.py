"""A frame that several users share: what one of them derives from it (a resized copy) serves the others, too."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar, cast

import numpy as np

T = TypeVar("T")


@dataclass
class Habits:
    """What every frame of a video will be asked for, as its earlier frames were: sizes (width, height), and makers by their key."""

    sizes: set[tuple[int, int]] = field(default_factory=set)
    makers: dict[Hashable, Callable[[np.ndarray], Any]] = field(default_factory=dict)

    def prepare(self, frame: SharedFrame) -> None:
        """Make all of it for this frame, before anyone asks."""
        for key, make in list(self.makers.items()):
            with suppress(Exception):  # those who ask get the error
                derived(frame, key, make)


class SharedFrame(np.ndarray):
    """An array that keeps what was derived from it, for as long as it lives itself. Views and copies of it do not."""

    habits: Habits
    _derived: dict[Hashable, Future[Any]]
    _lock: Lock

    def __array_finalize__(self, _source: object) -> None:
        self.habits, self._derived, self._lock = Habits(), {}, Lock()


def derived(frame: np.ndarray, key: Hashable, make: Callable[[np.ndarray], T], usual: bool = False) -> T:
    """make(frame). For a SharedFrame it is made once per key, also when several threads ask at the same time.

    What is `usual` becomes a habit of its video.
    """
    if not isinstance(frame, SharedFrame):
        return make(frame)
    with frame._lock:
        first = key not in frame._derived
        promise = frame._derived.setdefault(key, Future())
    if usual:
        frame.habits.makers.setdefault(key, make)
    if first:
        try:
            promise.set_result(make(np.asarray(frame)))
        except BaseException as error:  # those who wait must get it, too
            promise.set_exception(error)
    return cast(T, promise.result())
