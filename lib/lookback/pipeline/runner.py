"""Run the DAG. Each stage that is not up to date runs its notebook in a process of its own, at most two at a time."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from lookback.errors import StageError
from lookback.extras import need
from lookback.files import sha256_json
from lookback.hashcache import HashCache
from lookback.names import one_line
from lookback.params import RunParams
from lookback.params.load import is_file_name
from lookback.paths import expanded, project_root, shown
from lookback.pipeline import remaining
from lookback.pipeline.dag import STAGES, Stage, stages_of, upstream
from lookback.pipeline.freshness import changed, fingerprint, record
from lookback.pipeline.lock import run_lock
from lookback.progress import PROGRESS_FILE, read_progress, seconds_left
from lookback.provenance import write_provenance
from lookback.scratch import scratch_folder

ANSWERS_WITHIN_S = 10.0  # the loopback device, also of a crowded machine
PATIENCE_S = 10.0  # seconds that the processes of a stopped stage get to end


@dataclass
class Running:
    """A running stage: its process and the files it reports to."""

    stage: Stage
    process: subprocess.Popen[bytes]
    result: Path
    log: Path
    progress: Path
    fingerprint: dict[str, Any]
    started: float


def end_family(process: subprocess.Popen[bytes]) -> None:
    """End a stage's process with its kernel and workers, and wait until all are gone: they write into the folders of this run."""
    try:
        family = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        family = []
    process.terminate()
    for child in family:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    psutil.wait_procs(family, timeout=PATIENCE_S)
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _failed(errors: list[str]) -> str:
    """How many rows have no value because a model broke, with the most frequent error. Empty when there are none."""
    if not errors:
        return ""
    ((error, count),) = Counter(errors).most_common(1)
    return f"; {len(errors)} row(s) failed ({count} with {one_line(error)}), the next call tries them again"


def need_loopback() -> None:
    """Refuse to start where a notebook and its kernel cannot talk to each other; they would wait for minutes."""
    with socket.socket() as server, socket.socket() as client:
        try:
            server.bind(("127.0.0.1", 0))
            server.listen()
            client.settimeout(ANSWERS_WITHIN_S)
            client.connect(server.getsockname())
        except OSError as error:
            raise StageError(
                f"A notebook talks to its kernel over this machine's loopback device, which does not work here ({error}); "
                "switch it on (as root: ip link set lo up)"
            ) from None


class Pipeline:
    """One execution of the DAG for one run."""

    def __init__(self, params: RunParams, run: str, overrides: list[str], console: Console | None = None):
        self.params = params
        # a file is named from where the call was made; notebooks run in the project folder
        self.run_argument = str(expanded(run).absolute()) if is_file_name(run) else run
        self.overrides = overrides
        self.console = console or Console(stderr=True, highlight=False)
        self.hashes = HashCache.of_project()
        self.lock = -1
        self.wanted: set[str] = set()
        self.done: set[str] = set()
        self.redone: list[str] = []

    def run(self, target: Stage | None = None) -> list[str]:
        """Bring `target` (default: the whole DAG) up to date; returns the stages that were run."""
        need("papermill", "ipykernel")  # only the processes of the stages import them
        need_loopback()
        wanted = stages_of(self.params, target)
        self.wanted = {stage.name for stage in wanted}
        if self.params.profile == "paper":
            from lookback.extraction.needs import check_models  # it imports every backend; other runs need not wait for that

            check_models(self.params)
        with run_lock(self.params.paths.root) as self.lock, scratch_folder() as scratch:
            self._loop(wanted, scratch)
            self.hashes.save()
            if self.redone or not self.params.paths.provenance.is_file():
                write_provenance(self.params, self._stage_records())
        return self.redone

    def _loop(self, wanted: list[Stage], scratch: Path) -> None:
        waiting = list(wanted)
        running: list[Running] = []
        self.left = remaining.TimeLeft(self.params, wanted)
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total} stages, {task.fields[left]}"),
        )
        with Progress(*columns, TimeElapsedColumn(), console=self.console) as bar:
            task = bar.add_task("starting", total=len(wanted), left="")
            try:
                while waiting or running:
                    started = self._start_ready(waiting, running, scratch, bar)
                    finished = [job for job in running if job.process.poll() is not None]
                    for job in finished:
                        running.remove(job)
                        self._finish(job, bar)
                    left = self._left(running)
                    bar.update(task, completed=len(self.done & self.wanted), description=self._describe(running), left=left)
                    if not finished and not started and running:
                        time.sleep(0.1)
            finally:
                for job in running:
                    end_family(job.process)

    def _start_ready(self, waiting: list[Stage], running: list[Running], scratch: Path, bar: Progress) -> bool:
        for stage in list(waiting):
            needed = {other.name for other in upstream(stage)} & self.wanted
            if len(running) >= remaining.AT_ONCE or not needed <= self.done:
                continue
            waiting.remove(stage)
            if why := changed(stage, self.params, self.hashes):
                if not self.redone and not running:
                    names = ", ".join(each.name for each in self.left.wanted)
                    bar.console.print(f"stages: {names}; {self.left.first_words()}", soft_wrap=True)
                bar.console.print(f"{stage.notebook}: {one_line(why)}; {self._left(running)}")
                running.append(self._start(stage, scratch))
            else:
                self.done.add(stage.name)
                self.left.wanted = [each for each in self.left.wanted if each is not stage]
            return True
        return False

    def _start(self, stage: Stage, scratch: Path) -> Running:
        result, log, progress = (scratch / f"{stage.name}.{kind}" for kind in ("json", "log", "progress"))
        output = self.params.paths.notebooks / f"{stage.notebook}.ipynb"
        command = [
            sys.executable,
            "-m",
            "lookback.pipeline.execute",
            stage.name,
            str(output),
            str(result),
            self.run_argument,
            *self.overrides,
        ]
        own = {PROGRESS_FILE: str(progress), "LOOKBACK_ROOT": str(project_root()), "JUPYTER_RUNTIME_DIR": str(scratch / "jupyter")}
        environment = {**os.environ, **own}
        mark = fingerprint(stage, self.params, self.hashes)
        with log.open("wb") as told:
            process = subprocess.Popen(
                command, cwd=project_root(), env=environment, stdout=told, stderr=subprocess.STDOUT, pass_fds=(self.lock,)
            )
        return Running(stage, process, result, log, progress, mark, time.monotonic())

    def _finish(self, job: Running, bar: Progress) -> None:
        seconds = time.monotonic() - job.started
        notebook = shown(self.params.paths.notebooks / f"{job.stage.notebook}.ipynb")
        if not job.result.is_file():
            tail = job.log.read_text(errors="replace").strip().splitlines()[-1:] or ["no output"]
            raise StageError(f"Stage {job.stage.notebook} ended without a result (exit {job.process.returncode}): {tail[0]}")
        failure = json.loads(job.result.read_text())
        if failure:
            raise StageError(
                f"Stage {job.stage.notebook} failed in the cell '{failure['title']}': {failure['message']} [{failure['name']}]; "
                "finished stages stay usable"
            )
        missing = [table for table in job.stage.writes if not (self.params.paths.tables / f"{table}.parquet").is_file()]
        if missing:
            raise StageError(f"Stage {job.stage.notebook} ended without its table(s) {', '.join(missing)}; see {notebook}")
        mark = job.fingerprint
        if job.stage.name == "curation":  # curation may have rendered the datasets that count as its input
            rendered = str(self.params.paths.datasets)
            now = fingerprint(job.stage, self.params, self.hashes)["inputs"]
            mark["inputs"] |= {rendered: now[rendered]} if rendered in now else {}
        errors = record(job.stage, self.params, mark, self.hashes, seconds)
        self.done.add(job.stage.name)
        self.redone.append(job.stage.name)
        self.left.finished(job.stage, seconds)
        bar.console.print(f"{job.stage.notebook}: done in {seconds:.0f} s{_failed(errors)}", soft_wrap=True, markup=False)

    def _left(self, running: list[Running]) -> str:
        now = time.monotonic()
        jobs = {job.stage.name: remaining.Running(now - job.started, seconds_left(job.progress)) for job in running}
        return self.left.words(self.done, jobs)

    def _describe(self, running: list[Running]) -> str:
        return "; ".join(f"{job.stage.notebook} {read_progress(job.progress)}".strip() for job in running) or "checking"

    def _stage_records(self) -> dict[str, Any]:
        records = {}
        for stage in STAGES:
            path = self.params.paths.stages / f"{stage.name}.json"
            with suppress(OSError, ValueError, KeyError, TypeError):  # not there or damaged: the stage is not done
                content = json.loads(path.read_text())
                records[stage.name] = {
                    "fingerprint": sha256_json(content["fingerprint"]),
                    "inputs": content["fingerprint"]["inputs"],
                    "seconds": content["seconds"],
                }
        return records
