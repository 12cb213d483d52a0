"""What every executor offers: results in the order they finish, and a dead worker as a typed result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from lookback.workers import WorkerDied

__all__ = ["Executor", "WorkerDied"]

Task = TypeVar("Task")
Result = TypeVar("Result")


class Executor(Protocol):
    """Spreads tasks over workers. Functions and tasks are picklable; whatever must survive a kill, a task writes itself."""

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result | WorkerDied]]:
        """(index, result) of every task; a task whose worker died twice gives WorkerDied, an exception of the task is raised."""
