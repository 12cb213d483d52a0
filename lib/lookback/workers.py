"""Spread tasks over processes. A worker that dies costs only the task that killed it.

Functions and tasks must be picklable (module-level functions, plain data). Worker processes are started fresh, so that models and
decoder threads of the parent are never inherited half-alive.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class WorkerDied:
    """The result of a task whose worker process died twice (out of memory, a crash in native code)."""

    message: str = "the worker process died (out of memory, or a crash in native code)"


def run_tasks(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    workers: int,
    setup: Callable[..., None] | None = None,
    setup_arguments: tuple[Any, ...] = (),
) -> Iterator[tuple[int, Result | WorkerDied]]:
    """(index, result) of every task, in the order they finish. `setup` runs once per worker (load models there)."""
    workers = min(workers, len(tasks))
    if workers <= 1:
        if setup is not None and tasks:
            setup(*setup_arguments)
        yield from ((index, function(task)) for index, task in enumerate(tasks))
        return
    yield from _Pool(function, tasks, workers, setup, setup_arguments).run()


class _Pool(Generic[Task, Result]):
    """A process pool that is rebuilt when a worker dies; tasks in flight then are tried again one by one."""

    def __init__(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], workers: int, setup: Any, setup_arguments: tuple[Any, ...]
    ):
        self.function, self.tasks, self.workers = function, tasks, workers
        self.setup = setup
        self.setup_arguments = setup_arguments
        self.waiting = deque(range(len(tasks)))
        self.suspects: deque[int] = deque()

    def run(self) -> Iterator[tuple[int, Result | WorkerDied]]:
        while self.waiting or self.suspects:
            careful = bool(self.suspects)
            queue = self.suspects if careful else self.waiting
            yield from self._drain(queue, 1 if careful else self.workers, careful)

    def _drain(self, queue: deque[int], workers: int, careful: bool) -> Iterator[tuple[int, Result | WorkerDied]]:
        flying: dict[Future[Result], int] = {}
        ahead = 1 if careful else 2 * workers  # bounded, so that results do not pile up
        with self._executor(workers) as pool:
            try:
                while queue or flying:
                    while queue and len(flying) < ahead:
                        flying[pool.submit(self.function, self.tasks[queue[0]])] = queue[0]
                        queue.popleft()
                    finished, _ = wait(flying, return_when=FIRST_COMPLETED)
                    for future in finished:
                        result = future.result()
                        yield flying.pop(future), result
            except BrokenProcessPool:
                yield from self._after_death(flying, careful)

    def _after_death(self, flying: dict[Future[Result], int], careful: bool) -> Iterator[tuple[int, Result | WorkerDied]]:
        for future, index in flying.items():
            if future.done() and future.exception() is None:
                yield index, future.result()
            elif careful:
                yield index, WorkerDied()
            else:
                self.suspects.append(index)

    def _executor(self, workers: int) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(
            workers, mp_context=context, initializer=_start, initargs=(self.setup, self.setup_arguments, self.workers)
        )


def share_cores(threads: int) -> None:
    """Without this every worker starts a thread per core."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, str(threads))
    import cv2

    cv2.setNumThreads(threads)


def _start(setup: Callable[..., None] | None, arguments: tuple[Any, ...], workers: int) -> None:
    share_cores(max(1, (os.cpu_count() or 1) // workers))
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    if setup is not None:
        setup(*arguments)


def _leave_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever, or write into the folders of the next run."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
