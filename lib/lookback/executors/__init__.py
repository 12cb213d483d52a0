"""Who does the work per clip: processes on this machine, or actors on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from lookback.params import RunParams
from lookback.workers import Result, Task, WorkerDied, run_tasks

__all__ = ["Executor", "LocalExecutor", "WorkerDied", "executor_of"]


class Executor(Protocol):
    """Spreads tasks over workers. Functions and tasks must be picklable. A task itself saves what must survive a kill."""

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result | WorkerDied]]:
        """(index, result) of every task, in the order they finish.

        A task whose worker died twice gives WorkerDied. An exception of a task is raised.
        """


@dataclass(frozen=True)
class LocalExecutor:
    """At most `workers` processes. With one worker, this process does the work."""

    workers: int

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result | WorkerDied]]:
        return run_tasks(function, tasks, self.workers)


def executor_of(params: RunParams) -> Executor:
    """The executor that the parameters name. It starts nothing before there is a task."""
    if params.executor == "ray":
        from lookback.executors.ray_cluster import RayExecutor

        return RayExecutor(params.workers, params.ray)
    return LocalExecutor(params.workers)
