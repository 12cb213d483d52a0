"""Do slow work in a thread, a few items ahead of the reader: a GPU computes while the next frames are decoded."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from queue import Full, Queue
from typing import TypeVar

Item = TypeVar("Item")
LOOK_S = 0.1  # how often the thread looks whether its reader has left


def ahead(items: Iterable[Item], depth: int) -> Iterator[Item]:
    """The same items in the same order, made by a thread that is at most `depth` items ahead. Its error is raised in its place."""
    waiting: Queue[tuple[str, Item | BaseException | None]] = Queue(depth)
    left = threading.Event()

    def put(kind: str, value: Item | BaseException | None) -> bool:
        while not left.is_set():
            try:
                waiting.put((kind, value), timeout=LOOK_S)
                return True
            except Full:
                continue
        return False

    def work() -> None:
        try:
            for item in items:
                if not put("item", item):
                    return
        except BaseException as error:
            put("error", error)
        else:
            put("end", None)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (arrived := waiting.get())[0] == "item":
            yield arrived[1]  # type: ignore[misc]
        if arrived[0] == "error":
            raise arrived[1]  # type: ignore[misc]
    finally:
        left.set()
        thread.join()
