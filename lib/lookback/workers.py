"""Spread tasks over processes. When a worker dies, only the task that killed it is lost.

Functions and tasks must be picklable (module-level functions, plain data). Workers are new processes and not forks, so that they do
not inherit models and decoder threads of the parent in a broken state.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from lookback.limits import cores
from lookback.names import listing, one_line
from lookback.progress import say
from lookback.threads import in_thread_pool

Task = TypeVar("Task")
Result = TypeVar("Result")
QUIET_S = 600.0  # seconds without a result after which the tasks in work are named
MOST_NAMES = 8
GRACE_S = 1.0  # how long the tasks in work may go on after an interrupt or an error


@dataclass(frozen=True)
class WorkerDied:
    """The result of a task whose worker process died twice (out of memory, a crash in native code)."""

    message: str = "the worker process died (out of memory, or a crash in native code)"


_kept: dict[tuple[int, int], ProcessPoolExecutor] | None = None
_number = 0
_cores = cores()


def cores_each() -> int:
    """The cores that the caller may keep busy: one in a thread of `lookback.threads`, which share them out; otherwise those of its
    process: its share where several workers run, or all."""
    return 1 if in_thread_pool() else _cores


def worker_number() -> int:
    """Which worker this process is: 0, 1, ... of a pool; 0 in a process that is no worker."""
    return _number


@contextmanager
def workers_kept() -> Iterator[None]:
    """Inside, the processes of one `run_tasks` also serve the next: new ones would load their libraries for seconds again."""
    global _kept
    if _kept is not None:  # the outer one keeps them
        yield
        return
    pools = _kept = {}
    try:
        with _ended(pools):
            yield
    finally:
        _kept = None


@contextmanager
def _ended(pools: dict[tuple[int, int], ProcessPoolExecutor]) -> Iterator[None]:
    """The pools end with the block. After an interrupt or an error, waiting tasks are not begun, and those in work get GRACE_S."""
    try:
        yield
    except BaseException:
        processes = [process for pool in pools.values() for process in (pool._processes or {}).values()]
        for pool in pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        until = time.monotonic() + GRACE_S
        for process in processes:
            process.join(max(0.0, until - time.monotonic()))
            process.kill()
        raise
    for pool in pools.values():
        pool.shutdown()


def run_tasks(function: Callable[[Task], Result], tasks: Sequence[Task], workers: int) -> Iterator[tuple[int, Result | WorkerDied]]:
    """(index, result) of every task, in the order they finish. With one worker, this process does the work.

    With more, a lone task gets a process, too: it may be the one that killed its worker the last time.
    """
    if workers <= 1:
        yield from ((index, function(task)) for index, task in enumerate(tasks))
        return
    yield from _Pool(function, tasks, min(workers, len(tasks))).run()


class _Pool(Generic[Task, Result]):
    """A process pool that is rebuilt when a worker dies. The tasks that were running are then tried again one by one."""

    def __init__(self, function: Callable[[Task], Result], tasks: Sequence[Task], workers: int):
        self.function, self.tasks, self.workers = function, tasks, workers
        self.waiting = deque(range(len(tasks)))
        self.suspects: deque[int] = deque()

    def run(self) -> Iterator[tuple[int, Result | WorkerDied]]:
        while self.waiting or self.suspects:
            careful = bool(self.suspects)
            queue = self.suspects if careful else self.waiting
            yield from self._drain(queue, 1 if careful else self.workers, careful)

    def _drain(self, queue: deque[int], workers: int, careful: bool) -> Iterator[tuple[int, Result | WorkerDied]]:
        running: dict[Future[Result], int] = {}
        ahead = 1 if careful else 2 * workers  # limited, so that results do not pile up
        with self._processes(workers) as pool:
            try:
                while queue or running:
                    while queue and len(running) < ahead:
                        with _interrupts_held():  # the first call starts the workers
                            running[pool.submit(self.function, self.tasks[queue[0]])] = queue[0]
                        queue.popleft()
                    for future in self._next(running):
                        result = future.result()
                        yield running.pop(future), result
            except BrokenProcessPool:
                if _kept is not None:
                    _kept.pop((workers, self.workers), None)
                yield from self._after_death(running, careful)

    def _next(self, running: dict[Future[Result], int]) -> set[Future[Result]]:
        """The tasks that finish next. While none does, those in work are named after QUIET_S, after twice that, four times ..."""
        quiet, pause = 0.0, QUIET_S
        while not (finished := wait(running, pause, FIRST_COMPLETED).done):
            quiet += pause
            pause = quiet
            names = [name for future, index in running.items() if future.running() for name in _names(self.tasks[index], index)]
            say(one_line(f"no result for {quiet / 60:.0f} minutes; in work: {listing(names, MOST_NAMES)}"))
        return finished

    def _after_death(self, running: dict[Future[Result], int], careful: bool) -> Iterator[tuple[int, Result | WorkerDied]]:
        for future, index in running.items():
            if future.done() and future.exception() is None:
                yield index, future.result()
            elif careful:
                yield index, WorkerDied()
            else:
                self.suspects.append(index)

    @contextmanager
    def _processes(self, workers: int) -> Iterator[ProcessPoolExecutor]:
        key = (workers, self.workers)
        if _kept is None:
            alone = {key: self._executor(workers)}
            with _ended(alone):
                yield alone[key]
        else:
            if key not in _kept:
                _kept[key] = self._executor(workers)
            yield _kept[key]

    def _executor(self, workers: int) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(workers, context, _start, (self.workers, context.Value("i", 0)))


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """A process that is started inside never sees a Ctrl-C, on which native code may crash: this process ends it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _names(task: object, index: int) -> list[str]:
    """What a person calls a task: its clip, or the clips of a group; else its number."""
    clips: list[Any] = [getattr(each, "clip", None) for each in (task if isinstance(task, (list, tuple)) else [task])]
    return [clip.label for clip in clips if hasattr(clip, "label")] or [f"task {index + 1}"]


def share_cores(threads: int) -> None:
    """Limit the threads of a worker. Otherwise every worker starts one thread per core."""
    global _cores
    _cores = threads
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, str(threads))
    import cv2

    cv2.setNumThreads(threads)


def _start(workers: int, started: Any) -> None:
    global _number
    # again: multiprocessing lets interrupts through where it has to start its resource tracker anew
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    with started.get_lock():
        _number, started.value = started.value, started.value + 1
    share_cores(max(1, cores() // workers))
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """End a worker when its parent was killed. It would wait for ever, or write into the folders of the next run."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
