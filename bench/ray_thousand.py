"""Many small clips on a local Ray, one of its two workers killed half-way: complete, and the same tables as from local processes.

    python bench/ray_thousand.py [--clips 1000] [--workers 2] [--batch 8]

Writes an MBench-A setup of 64x48 videos, each with bytes of its own, curates it, and sends it through extraction (poses from files,
flow, sharpness) and scoring (three pixel metrics) twice: by worker processes, then by Ray actors. In each stage on Ray an actor is
killed (-9) when half of the stage's entries are in the store. Prints seconds, kills and the comparison of the tables, byte by byte.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil
from curation_scale import write_dataset
from lookback import stages
from lookback.params import RunParams
from lookback.params.load import validate

ROLES = ["pose", "flow", "quality"]
METRICS = ["rendering_lighting", "spatial_epipolar", "spatial_reprojection"]
TABLES = ("artifacts", "units", "items")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        project = Path(temporary) / "project"
        (project / "params").mkdir(parents=True)
        (project / "notebooks").mkdir()
        os.environ["LOOKBACK_ROOT"] = str(project)
        started = time.perf_counter()
        write_dataset(Path(temporary) / "data", arguments.clips, distinct=True)
        figures = both(Path(temporary), arguments.clips, arguments.workers, arguments.batch, arguments.workers)
        figures["all_s"] = time.perf_counter() - started
    for name, value in figures.items():
        print(f"{name:<22} {value:.1f}" if isinstance(value, float) else f"{name:<22} {value}")
    return 0 if figures["tables_differ"] == 0 and figures["missing"] == 0 and figures["killed"] == 2 else 1


def both(folder: Path, clips: int, workers: int, batch: int, local_workers: int) -> dict[str, Any]:
    """Local, then Ray with a kill in each stage; what it took and whether the tables are the same."""
    local = parameters(folder, "local", local_workers)
    stages.curation(local)
    spread = parameters(folder, "ray", workers, {"batch": batch})
    shutil.copytree(local.paths.tables, spread.paths.tables)
    figures: dict[str, Any] = {"clips": clips, "workers": workers}
    killed: list[int] = []
    for params in (local, spread):
        for stage, kind, expected in ((stages.extraction, ROLES, len(ROLES)), (stages.scoring, ["score"], len(METRICS))):
            watch = Killer(params, kind, clips * expected // 2) if params is spread else None
            started = time.perf_counter()
            stage(params)
            figures[f"{params.executor}_{stage.__name__}_s"] = time.perf_counter() - started
            killed += watch.stop() if watch else []
    pairs = [[(params.paths.tables / f"{name}.parquet").read_bytes() for params in (local, spread)] for name in TABLES]
    figures |= {"killed": len(killed), "tables_differ": sum(one != other for one, other in pairs), "missing": missing(spread)}
    return figures


def parameters(folder: Path, executor: str, workers: int, ray: dict[str, Any] | None = None) -> RunParams:
    values = {
        "run": executor,
        "output": str(folder / executor),
        "workers": workers,
        "device": "cpu",
        "executor": executor,
        "ray": ray or {},
        "curation": {"sources": [{"root": str(folder / "data")}]},
        "extraction": {"roles": ROLES},
        "scoring": {"metrics": [f"mbencha.environment.{name}" for name in METRICS]},
    }
    return validate(values, "benchmark")


def missing(params: RunParams) -> int:
    """Rows that a dead worker left without a result."""
    from lookback.tables import read_table

    return sum(int((read_table(params.paths.tables, name)["reason"] == "backend_failed").sum()) for name in ("artifacts", "items"))


class Killer(threading.Thread):
    """Waits until the store holds so many entries of these kinds, then kills one Ray actor of this process."""

    def __init__(self, params: RunParams, kinds: list[str], entries: int):
        super().__init__(daemon=True)
        self.folders = [params.paths.artifacts / kind for kind in kinds]
        self.entries, self.over = entries, threading.Event()
        self.killed: list[int] = []
        self.start()

    def run(self) -> None:
        while not self.over.wait(0.05):
            if sum(1 for folder in self.folders for _ in folder.rglob("*.json")) >= self.entries:
                for child in psutil.Process().children(recursive=True):
                    if "ray::Worker" in " ".join(child.cmdline()):
                        child.send_signal(signal.SIGKILL)
                        self.killed.append(child.pid)
                        return

    def stop(self) -> list[int]:
        self.over.set()
        self.join()
        return self.killed


if __name__ == "__main__":
    sys.exit(main())
