"""The executor that the parameters name."""

from __future__ import annotations

from lookback.executors.base import Executor
from lookback.params import RunParams


def executor_of(params: RunParams) -> Executor:
    """Nothing starts before there is a task."""
    if params.executor == "ray":
        from lookback.executors.ray_cluster import RayExecutor

        return RayExecutor(params.workers, params.ray)
    from lookback.executors.local import LocalExecutor

    return LocalExecutor(params.workers)
