"""kill -9 at random points of every stage, start it again, and hold the tables to those of an undisturbed run.

    python bench/soak.py [--kills 56] [--seed 0] [--log outputs/soak.log]

A small demo world goes through all stages once undisturbed. Then every stage is started over and over and killed with its whole
process group after a random share of the time it took, until it has had its part of the kills; a stage that finishes before its
kill came is emptied and starts again. The last start of a stage is left to finish from what the killed ones left. In the end every
file below tables/ is compared with the undisturbed run's, byte by byte. Prints a line per stage and `kills, resumes, differences`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TextIO

import numpy as np
from lookback import stages
from lookback.params import RunParams, load_run
from lookback.pipeline import STAGES
from lookback.pipeline.dag import Stage

SMALL = ["curation.world.scale=0.05", "curation.world.width=160", "curation.world.height=96", "curation.filters.limit=4"]
WITH_TIMES = ("tables/judging/cost",)  # how long a judge took is no result
LONGEST_S = 600


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=56)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--log", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        log = arguments.log.open("w") if arguments.log else None
        soak = Soak(Path(scratch), arguments.kills, arguments.workers, np.random.default_rng(arguments.seed), log)
        return soak.run()


class Soak:
    """One undisturbed run, one killed one."""

    def __init__(self, scratch: Path, kills: int, workers: int, random: np.random.Generator, log: TextIO | None):
        self.folder, self.undisturbed = scratch / "run", scratch / "undisturbed"
        self.params = load_run("demo", [*SMALL, "run=soak", f"output={self.folder}", f"workers={workers}"])
        shares = np.full(len(STAGES), kills // len(STAGES)) + (np.arange(len(STAGES)) < kills % len(STAGES))
        self.kills = dict(zip((stage.name for stage in STAGES), map(int, shares), strict=True))
        self.random, self.log = random, log
        self.done_kills = self.resumes = 0

    def run(self) -> int:
        seconds = {stage.name: self._finish(stage) for stage in STAGES}
        # the same path for both runs, because tables name their videos
        self.folder.rename(self.undisturbed)
        for stage in STAGES:
            self._soak(stage, seconds[stage.name])
        differences = compare(self.undisturbed, self.folder)
        for name in differences:
            self._say(f"differs: {name}")
        compared = len(tables(self.undisturbed))
        self._say(f"kills {self.done_kills}, resumes {self.resumes}, files compared {compared}, differences {len(differences)}")
        return 1 if differences else 0

    def _soak(self, stage: Stage, seconds: float) -> None:
        killed = finished_before = 0
        while killed < self.kills[stage.name]:
            started = time.monotonic()
            child = start(stage, self.params)
            if self._killed(child, float(self.random.uniform(0, seconds))):
                killed += 1
            else:
                finished_before += 1
                seconds = min(seconds, time.monotonic() - started)  # the first run also warmed the caches
                empty(stage, self.params)
        left = len(list(self.folder.rglob(".*.*.*")))
        again = self._finish(stage)
        self.done_kills += killed
        self.resumes += killed  # every killed start was followed by another that went on from it
        self._say(
            f"{stage.name:<11} {killed:>3} kills within {seconds:5.1f} s, {finished_before} ended before their kill; "
            f"last start {again:5.1f} s; {left} unfinished files left aside"
        )

    def _killed(self, child: int, after_s: float) -> bool:
        deadline = time.monotonic() + after_s
        while time.monotonic() < deadline:
            if os.waitpid(child, os.WNOHANG)[0]:
                return False
            time.sleep(0.005)
        os.killpg(child, signal.SIGKILL)
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])

    def _finish(self, stage: Stage) -> float:
        started = time.monotonic()
        child = start(stage, self.params)
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            if time.monotonic() - started > LONGEST_S:
                os.killpg(child, signal.SIGKILL)
                raise SystemExit(f"{stage.name} hangs")
            time.sleep(0.01)
        if ended[1]:
            raise SystemExit(f"{stage.name} failed with status {ended[1]} after {self.done_kills} kills")
        return time.monotonic() - started

    def _say(self, line: str) -> None:
        print(line, flush=True)
        if self.log:
            print(line, file=self.log, flush=True)


def start(stage: Stage, params: RunParams) -> int:
    """The stage in a forked process that leads a group of its own: everything is imported already, so the time is the stage's."""
    child = os.fork()
    if child:
        # both sides set it: the group must exist before it can be killed
        os.setpgid(child, child)
        return child
    os.setpgid(0, 0)
    status = 1
    try:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            if not os.environ.get("SOAK_ERRORS"):
                os.dup2(nowhere.fileno(), 2)
            getattr(stages, stage.name)(params)
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


def empty(stage: Stage, params: RunParams) -> None:
    """Remove what the stage made, so that its next start has work to do."""
    paths = params.paths
    for table in stage.writes:
        (paths.tables / f"{table}.parquet").unlink(missing_ok=True)
    made = {"curation": [paths.datasets], "judging": [paths.root / "judge_cache"]}.get(stage.name, [])
    if stage.name == "extraction":
        made = [folder for folder in paths.artifacts.glob("*") if folder.name != "score"]
    elif stage.name == "scoring":
        made = [paths.artifacts / "score"]
    for folder in (*made, paths.tables / stage.name, paths.figures / stage.name):
        shutil.rmtree(folder, ignore_errors=True)


def tables(folder: Path) -> dict[str, Path]:
    files = {path.relative_to(folder).as_posix(): path for path in sorted((folder / "tables").rglob("*")) if path.is_file()}
    return {name: path for name, path in files.items() if not path.name.startswith(".") and not name.startswith(WITH_TIMES)}


def compare(one: Path, other: Path) -> list[str]:
    """Files below tables/ that are not the same in both, or only in one."""
    first, second = tables(one), tables(other)
    same = {name for name in first.keys() & second.keys() if first[name].read_bytes() == second[name].read_bytes()}
    return sorted((first.keys() | second.keys()) - same)


if __name__ == "__main__":
    sys.exit(main())
