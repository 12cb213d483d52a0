"""Worker processes of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lookback.executors.base import Result, Task
from lookback.workers import WorkerDied, run_tasks


@dataclass(frozen=True)
class LocalExecutor:
    """At most `workers` processes; one worker is this process itself."""

    workers: int

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result | WorkerDied]]:
        return run_tasks(function, tasks, self.workers)
