"""Kill every stage at random points, kill its workers, fill its disk; in the end hold all files to those of an undisturbed run.

    python bench/soak.py [--kills 56] [--worker-kills 8] [--full-disks 16] [--seed 0] [--log outputs/soak.log]
    python bench/soak.py --minutes 60 [--commands eval report] [--seed 0] [--log outputs/soak.log]

A small demo world goes through all stages once undisturbed. Then every stage is started over and over: it meets a full disk and
must end in one sentence; it loses a worker process and must go on; it is killed with its whole process group after a random share
of the time it took. A stage that finishes before its kill came is emptied and starts again. The last start of a stage is left to
finish from what the others left. In the end every table and figure is compared with the undisturbed run's, byte by byte.

With `--minutes`, the commands `eval` and `report` themselves are disturbed for so long, in turn: Ctrl-C, SIGTERM, kills of the
process, of its group and of a worker, and files that cannot grow. A stopped command must end in 3 s with its sentence. After a few
of these the command is left to finish, its outputs are compared with the undisturbed run's, and it starts anew.

The full disk is a small file system of its own where this user may mount one, else a limit on the size of every file.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TextIO

import numpy as np
import psutil
from lookback import stages
from lookback.media import encode
from lookback.params import RunParams, load_run
from lookback.pipeline import STAGES
from lookback.pipeline.dag import Stage
from lookback.pipeline.lock import run_lock
from lookback.scratch import LEFT

SMALL = [
    "curation.world.scale=0.05",
    "curation.world.width=160",
    "curation.world.height=96",
    "curation.filters.limit=4",
    "audit.clips=1",
    "audit.benchmarks=[wrbench]",
]
WITH_TIMES = ("tables/judging/cost",)  # how long a judge took is no result
POOLED = ("extraction", "scoring")  # stages with a pool of workers over clips
LONGEST_S = 600
TRIES = 20
DISK_BYTES = 256 * 2**20
LIMITED_BYTES = 600  # of a file, where there is no disk to fill
ENDS_WITHIN_S = 3.0
STRIKES = {"Ctrl-C": 130, "SIGTERM": 143, "kill": -9, "kill of the group": -9, "kill of a worker": 0, "full disk": 1}  # exit codes
QUICK = "folder.steady_light,folder.cuts,folder.camera_turn"
FEW = 4  # at most so many disturb one run of a command
CRASHED = ("Traceback", "Fatal Python error")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=56)
    parser.add_argument("--worker-kills", type=int, default=8)
    parser.add_argument("--full-disks", type=int, default=16)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--commands", nargs="+", choices=("eval", "report"), default=["eval", "report"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--log", type=Path)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        disk = stack.enter_context(SmallDisk(scratch / "disk"))
        log = stack.enter_context(arguments.log.open("w")) if arguments.log else None
        if arguments.minutes:
            return (
                0
                if disturb_commands(scratch, np.random.default_rng(arguments.seed), arguments.minutes, arguments.commands, log)
                else 1
            )
        params = load_run("demo", [*SMALL, "run=soak", f"output={disk.folder / 'run'}", f"workers={arguments.workers}"])
        soak = Soak(params, disk, np.random.default_rng(arguments.seed), log)
        soak.undisturbed()
        soak.disturb(arguments.kills, arguments.worker_kills, arguments.full_disks)
        return 0 if soak.ended() else 1


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

    def __init__(self, params: RunParams, disk: SmallDisk, random: np.random.Generator, log: TextIO | None = None):
        self.params, self.disk, self.random, self.log = params, disk, random, log
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
            self.say(f"{stage.name:<11} {dict(self.counted)} so far; last start {again:.1f} s")

    def ended(self) -> bool:
        """Whether the disturbed run is the undisturbed one, said in a line."""
        differences = compare(self.reference, self.folder)
        left = [path for path in self.folder.rglob("*") if LEFT.match(path.name)]
        for name in differences:
            self.say(f"differs: {name}")
        counts = ", ".join(f"{what}: {count}" for what, count in self.counted.items())
        compared = len(outputs(self.reference))
        self.say(f"{counts}, files compared: {compared}, differences: {len(differences)}, left behind: {len(left)}")
        return not differences and not left

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
                if self._entries() > before and (workers := _workers(child)):  # a look at all processes takes much longer
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

    def say(self, line: str) -> None:
        say(line, self.log)


class Command:
    """A command that is disturbed again and again. Its outputs are compared each time it was left to finish."""

    def __init__(self, words: Sequence[str], output: Path, random: np.random.Generator):
        self.words, self.output, self.random = words, output, random
        self.reference = output.with_name(f"{output.name}-undisturbed")
        self.counted: Counter[str] = Counter()
        self.problems: list[str] = []
        self.slowest = 0.0
        started = time.monotonic()
        self._end(self._start(), {0}, "no disturbance")
        self.seconds = time.monotonic() - started
        print(f"{self.words[0]}: undisturbed in {self.seconds:.0f} s", flush=True)
        output.rename(self.reference)

    def disturbed_once(self) -> None:
        """A few disturbances, then the run is left to finish and compared."""
        for what in self.random.choice(list(STRIKES), int(self.random.integers(1, FEW + 1))):
            self._disturb(str(what))
        self._end(self._start(), {0}, "the last start")
        self.problems += [f"differs: {name}" for name in compare(self.reference, self.output)]
        self.problems += [f"left behind: {path}" for path in self.output.rglob("*") if LEFT.match(path.name)]
        self.counted["comparisons"] += 1
        shutil.rmtree(self.output)

    def _disturb(self, what: str) -> None:
        process = self._start(LIMITED_BYTES if what == "full disk" else 0)
        struck = time.monotonic()
        if what != "full disk":
            with suppress(subprocess.TimeoutExpired):
                process.wait(float(self.random.uniform(0, self.seconds)))
            struck = time.monotonic()
            with suppress(ProcessLookupError, IndexError):
                if what == "kill of a worker":
                    _workers(process.pid)[0].kill()
                elif what in ("Ctrl-C", "kill of the group"):
                    os.killpg(process.pid, signal.SIGINT if what == "Ctrl-C" else signal.SIGKILL)
                else:
                    process.send_signal(signal.SIGTERM if what == "SIGTERM" else signal.SIGKILL)
        self._end(process, {0, STRIKES[what]}, what)
        took = time.monotonic() - struck
        if process.returncode in (STRIKES["Ctrl-C"], STRIKES["SIGTERM"]):
            self.slowest = max(self.slowest, took)
            if took > ENDS_WITHIN_S:
                self.problems.append(f"{what}: ended after {took:.1f} s")
        self.counted[what if process.returncode == STRIKES[what] else f"{what} too late"] += 1
        print(f"{self.words[0]}: {what}, exit code {process.returncode} after {took:.1f} s", flush=True)

    def _start(self, largest_file: int = 0) -> subprocess.Popen[str]:
        def limited() -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what was started in the background
            if largest_file:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))

        call = [sys.executable, "-m", "lookback", *self.words]
        return subprocess.Popen(
            call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=limited
        )

    def _end(self, process: subprocess.Popen[str], codes: set[int], what: str) -> None:
        try:
            _, said = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said = process.communicate()[1] + "\nit hung"
        odd = process.returncode not in codes or any(word in said for word in CRASHED)
        silent = process.returncode in (STRIKES["Ctrl-C"], STRIKES["SIGTERM"]) and "lookback: stopped" not in said
        if odd or silent:
            self.problems.append(f"{what}: exit code {process.returncode}; {said[-600:]}")


def disturb_commands(folder: Path, random: np.random.Generator, minutes: float, names: Sequence[str], log: TextIO | None) -> bool:
    """Disturb the commands for so long; whether all held, said in a line per command."""
    (folder / "clips" / "model").mkdir(parents=True)
    for number in range(4):
        frames = random.integers(0, 255, (4, 6, 3)).astype(np.uint8).repeat(24, 0).repeat(32, 1)
        encode(
            folder / "clips" / "model" / f"clip{number}.mp4", np.stack([np.roll(frames, 2 * step, 1) for step in range(16)]), 8.0
        )
    params = {"output": str(folder / "report"), "workers": 2, "curation": {"sources": [{"root": str(folder / "clips")}]}}
    params |= {"scoring": {"metrics": QUICK.split(",")}}
    (folder / "soak.yaml").write_text(json.dumps(params))
    calls = {
        "eval": [
            "eval",
            str(folder / "clips"),
            "--layout",
            "folder",
            "--output",
            str(folder / "eval"),
            "--workers",
            "2",
            "--metrics",
            QUICK,
        ],
        "report": ["report", "--run", str(folder / "soak.yaml")],
    }
    until = time.monotonic() + 60 * minutes
    commands: dict[str, Command] = {}
    while time.monotonic() < until:
        for name in names:
            if name not in commands:
                commands[name] = Command(calls[name], folder / name, random)
            if time.monotonic() < until:
                commands[name].disturbed_once()
            say(f"{name}: {dict(commands[name].counted)} so far, problems: {len(commands[name].problems)}", log)
    for name, command in commands.items():
        for problem in command.problems:
            say(f"{name}: {problem}", log)
        slowest = f"slowest end after Ctrl-C or SIGTERM: {command.slowest:.1f} s"
        say(f"{name}: {dict(command.counted)}, {slowest}, problems: {len(command.problems)}", log)
    return not any(command.problems for command in commands.values())


def say(line: str, log: TextIO | None) -> None:
    print(line, flush=True)
    if log:
        print(line, file=log, flush=True)


def _share(count: int, stage: Stage, among: list[Stage] | tuple[Stage, ...]) -> int:
    """The stage's part of so many strikes."""
    if stage not in among:
        return 0
    return count // len(among) + (list(among).index(stage) < count % len(among))


def _over(child: int) -> bool:
    """Whether the child has ended; it is still to be waited for."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _workers(child: int) -> list[psutil.Process]:
    """The processes of the child's pool that are at work."""
    found = []
    with suppress(psutil.Error):
        for process in psutil.Process(child).children():
            with suppress(psutil.Error):  # it ended just now
                if "spawn_main" in " ".join(process.cmdline()):
                    found.append(process)
    return found


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


def outputs(folder: Path) -> dict[str, Path]:
    """What a run is there for: its tables and figures. The page is made of these; it also shows how long the metrics took."""
    found = [path for part in ("tables", "figures", "metrics") for path in (folder / part).rglob("*")]
    files = {path.relative_to(folder).as_posix(): path for path in sorted(found) if path.is_file()}
    return {name: path for name, path in files.items() if not path.name.startswith(".") and not name.startswith(WITH_TIMES)}


def compare(one: Path, other: Path) -> list[str]:
    """Files that are not the same in both runs, or only in one."""
    first, second = outputs(one), outputs(other)
    same = {name for name in first.keys() & second.keys() if first[name].read_bytes() == second[name].read_bytes()}
    return sorted((first.keys() | second.keys()) - same)


if __name__ == "__main__":
    sys.exit(main())
