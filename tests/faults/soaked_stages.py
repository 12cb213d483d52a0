"""Kill every stage at random points, kill its workers, fill its disk; in the end hold all files to those of an undisturbed run.

A small run goes through all stages once undisturbed. Then every stage is started over and over: it meets a full disk and must end
in one sentence; it loses a worker process and must go on; it is killed with its whole process group after a random share of the
time it took. A stage that finishes before its kill came is emptied and starts again. The last start of a stage is left to finish
from what the others left. In the end every table and figure is compared with the undisturbed run's, byte by byte.

The full disk is a small file system of its own where this user may mount one, else a limit on the size of every file.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from lookback import stages
from lookback.params import RunParams
from lookback.pipeline import STAGES
from lookback.pipeline.dag import Stage
from lookback.pipeline.lock import run_lock
from lookback.scratch import LEFT
from soak import compare, outputs, workers_of

POOLED = ("extraction", "scoring")  # stages with a pool of workers over clips
LONGEST_S = 600
TRIES = 20
DISK_BYTES = 256 * 2**20
LIMITED_BYTES = 600  # of a file, where there is no disk to fill


class SmallDisk:
    """A file system that can be filled; a plain folder where none can be mounted."""

    def __init__(self, folder: Path):
        self.folder, self.filler = folder, folder / "filler"
        folder.mkdir(parents=True)
        call = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
        self.real = bool(shutil.which("mount")) and not subprocess.run(call, capture_output=True, check=False).returncode

    def __enter__(self) -> SmallDisk:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.real:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True)

    def fill(self, leave: int) -> None:
        with self.filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, shutil.disk_usage(self.folder).free - leave))

    def clear(self) -> None:
        self.filler.unlink()


class Soak:
    """One undisturbed run, then a disturbed one at the same path, because tables name their videos."""

    def __init__(self, params: RunParams, disk: SmallDisk, random: np.random.Generator):
        self.params, self.disk, self.random = params, disk, random
        self.folder = params.paths.root
        self.reference = self.folder.with_name("undisturbed")
        self.told = disk.folder.with_name("told")
        self.seconds: dict[str, float] = {}
        self.counted: Counter[str] = Counter()
        self.sentences: list[str] = []

    def undisturbed(self) -> None:
        for stage in STAGES:
            self.seconds[stage.name] = self.finish(stage)
        self.folder.rename(self.reference)

    def disturb(self, kills: int, worker_kills: int, full_disks: int) -> None:
        for stage in STAGES:
            for _ in range(_share(full_disks, stage, STAGES)):
                self.full_disk(stage)
            for _ in range(_share(worker_kills, stage, [stage for stage in STAGES if stage.name in POOLED])):
                self.kill_worker(stage)
            for _ in range(_share(kills, stage, STAGES)):
                self.kill(stage)
            again = self.finish(stage)
            print(f"{stage.name:<11} {dict(self.counted)} so far; last start {again:.1f} s")

    def ended(self) -> None:
        """Say in a line how the disturbed run differs from the undisturbed one."""
        differences = compare(self.reference, self.folder)
        left = [path for path in self.folder.rglob("*") if LEFT.match(path.name)]
        for name in differences:
            print(f"differs: {name}")
        counts = ", ".join(f"{what}: {count}" for what, count in self.counted.items())
        compared = len(outputs(self.reference))
        print(f"{counts}, files compared: {compared}, differences: {len(differences)}, left behind: {len(left)}")

    def kill(self, stage: Stage) -> None:
        """Kill the stage and everything it started, at a random moment."""

        def strike(child: int) -> bool:
            deadline = time.monotonic() + float(self.random.uniform(0, self.seconds[stage.name]))
            while time.monotonic() < deadline:
                if _over(child):
                    return False
                time.sleep(0.005)
            os.killpg(child, signal.SIGKILL)
            return True

        self._until_struck(stage, "kills", strike, self.params, ended_well=False)

    def kill_worker(self, stage: Stage) -> None:
        """Kill one process of the stage's pool when the first result of the stage is there; the stage goes on."""
        spread = self.params.model_copy(update={"workers": 2})

        def strike(child: int) -> bool:
            before = self._entries()
            while not _over(child):
                if self._entries() > before and (workers := workers_of(child)):  # a look at all processes takes much longer
                    workers[0].kill()
                    return True
                time.sleep(0.002)
            return False

        self._until_struck(stage, "worker kills", strike, spread, ended_well=True)

    def full_disk(self, stage: Stage) -> None:
        """The stage starts with little room on its disk and must end in one sentence."""
        empty(stage, self.params)
        self.folder.mkdir(exist_ok=True)
        for leave in (int(self.random.integers(0, 32_768)), 0):
            if self.disk.real:
                self.disk.fill(leave)
            try:
                child = start(stage, self.params, self.told, 0 if self.disk.real else LIMITED_BYTES)
                failed = self._wait(stage, child)
            finally:
                if self.disk.real:
                    self.disk.clear()
            if failed:
                break
            empty(stage, self.params)
        sentence = self.told.read_text()
        if not failed or not sentence.startswith("CannotWrite: Cannot write ") or "\n" in sentence:
            raise SystemExit(f"{stage.name} on a full disk ended with status {failed}: {sentence}")
        self.sentences.append(sentence)
        self.counted["full disks"] += 1

    def finish(self, stage: Stage) -> float:
        started = time.monotonic()
        if status := self._wait(stage, start(stage, self.params, self.told)):
            raise SystemExit(f"{stage.name} failed with status {status} after {dict(self.counted)}: {self.told.read_text()}")
        return time.monotonic() - started

    def _until_struck(self, stage: Stage, what: str, strike: Callable[[int], bool], params: RunParams, ended_well: bool) -> None:
        """Start the stage until the strike hits it; one that finished before is emptied, so that the next has work to do."""
        for _ in range(TRIES):
            empty(stage, self.params)
            started = time.monotonic()
            child = start(stage, params, self.told)
            struck = strike(child)
            status = self._wait(stage, child)
            if struck and (status == 0) == ended_well:
                self.counted[what] += 1
                return
            if status not in (0, signal.SIGKILL):
                raise SystemExit(f"{stage.name} failed with status {status}: {self.told.read_text()}")
            if params is self.params:
                self.seconds[stage.name] = min(self.seconds[stage.name], time.monotonic() - started)
        raise SystemExit(f"{stage.name} was never hit in {TRIES} starts")

    def _entries(self) -> int:
        """How many results the store holds."""
        return sum(name.endswith(".json") for _, _, names in os.walk(self.params.paths.artifacts) for name in names)

    def _wait(self, stage: Stage, child: int) -> int:
        started = time.monotonic()
        while not _over(child):
            if time.monotonic() - started > LONGEST_S:
                os.killpg(child, signal.SIGKILL)
                raise SystemExit(f"{stage.name} hangs")
            time.sleep(0.01)
        return os.waitpid(child, 0)[1]


def _share(count: int, stage: Stage, among: list[Stage] | tuple[Stage, ...]) -> int:
    """The stage's part of so many strikes."""
    if stage not in among:
        return 0
    return count // len(among) + (list(among).index(stage) < count % len(among))


def _over(child: int) -> bool:
    """Whether the child has ended; it is still to be waited for."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def start(stage: Stage, params: RunParams, told: Path, largest_file: int = 0) -> int:
    """The stage in a forked process that leads a group of its own: everything is imported already, so the time is the stage's.

    What it fails with is written to `told`. With `largest_file` no file below may grow beyond so many bytes.
    """
    function = getattr(stages, stage.name)  # imported here, once
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
            os.dup2(nowhere.fileno(), 2)
        with run_lock(params.paths.root):
            if largest_file:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
            function(params)
        status = 0
    except BaseException as error:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        told.write_text(f"{type(error).__name__}: {error}")
    finally:
        os._exit(status)


def empty(stage: Stage, params: RunParams) -> None:
    """Remove what the stage made, so that its next start has work to do."""
    paths = params.paths
    for table in stage.writes:
        (paths.tables / f"{table}.parquet").unlink(missing_ok=True)
    made = {
        "curation": [paths.datasets, paths.artifacts / "probe"],
        "judging": [paths.root / "judge_cache"],
        "forensics": [paths.artifacts / "forensics"],
        "audit": [paths.root / "audit"],
    }.get(stage.name, [])
    if stage.name == "extraction":
        made = [folder for folder in paths.artifacts.glob("*") if folder.name not in ("score", "probe", "forensics")]
    elif stage.name == "scoring":
        made = [paths.artifacts / "score"]
    for folder in (*made, paths.tables / stage.name, paths.figures / stage.name):
        shutil.rmtree(folder, ignore_errors=True)
