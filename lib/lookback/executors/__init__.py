"""Who does the per-clip work of a run: processes of this machine, or actors on a Ray cluster."""

from lookback.executors.base import Executor, WorkerDied
from lookback.executors.choose import executor_of

__all__ = ["Executor", "WorkerDied", "executor_of"]
