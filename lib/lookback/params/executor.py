"""Where a run's per-clip work is done when `executor` is `ray`."""

from __future__ import annotations

from pydantic import Field

from lookback.params.section import Section


class Ray(Section):
    """`workers` Ray actors, each with these resources; the project and output folders must be the same paths on every node."""

    address: str = ""  # of an existing cluster: auto, host:port, ray://host:port; empty: a Ray on this machine for each stage
    num_cpus: float = Field(default=1, gt=0)  # per worker
    num_gpus: float = Field(default=0, ge=0)  # per worker; 0.5 lets two workers share one
    batch: int = Field(default=1, ge=1, le=1024)  # clips sent to a worker at once; more pays where clips take milliseconds
    start_timeout_s: float = Field(default=300, gt=0)  # how long to wait while no worker can start
