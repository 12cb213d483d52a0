"""Disturb commands and servers at random for so long; what they leave in the end must be what an undisturbed run leaves.

    python bench/soak.py --minutes 60 [--commands eval report desk judge] [--seed 0] [--log outputs/soak.log]
    python bench/soak.py --ctrl-c 50 [--log outputs/ctrl-c.log]

`eval` and `report` are stopped (Ctrl-C, SIGTERM), killed (the process, its group, one of its workers) and started with files that
cannot grow. A stopped command must end in 3 s with its sentence. After a few of these it is left to finish, and its tables, figures
and metrics are compared with the undisturbed run's, byte by byte. `judge` is an eval that asks a chat server, which is also killed
and started again. `desk` is the server of a study: three raters vote over HTTP while it is disturbed and started again on the same
files and port. Every vote that it acknowledged must be stored once, and the exported votes must be those of an undisturbed study.

With `--ctrl-c`, an eval on two busy workers gets so many Ctrl-C's; the seconds until it has ended are printed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, suppress
from http.client import HTTPException
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import psutil
from lookback.media import encode
from lookback.scratch import LEFT

sys.path.extend(str(Path(__file__).resolve().parents[1] / "tests" / part) for part in ("", "judging", "layouts", "desk"))
from chat_server import ChatServer, Sent, completion
from layout_data import mbench
from visitor import Visitor

WITH_TIMES = ("tables/judging/cost",)  # how long a judge took is no result
LONGEST_S = 1800
ENDS_WITHIN_S = 3.0
STRIKES = {"Ctrl-C": 130, "SIGTERM": 143, "kill": -9, "kill of the group": -9, "kill of a worker": 0, "full disk": 1}  # exit codes
STOPPED = (130, 143)
SMALLEST, LARGEST = 600, 60_000  # bytes that a file may have on a disk that counts as full
QUICK = "folder.steady_light,folder.cuts,folder.camera_turn"
JUDGED = "mbencht.causal.state_progress,mbencht.causal.progress_correctness"
FEW = 4  # at most so many disturb one run of a command
CRASHED = ("Traceback", "Fatal Python error")
RATERS = ("ann", "bob", "cat")
PAUSE_S = 0.3  # of a rater between two votes
BUSY_S = 12.0  # after their start, workers are surely busy for so long


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--commands", nargs="+", choices=list(MADE), default=list(MADE))
    parser.add_argument("--ctrl-c", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        log = stack.enter_context(arguments.log.open("w")) if arguments.log else None
        random = np.random.default_rng(arguments.seed)
        if arguments.ctrl_c:
            return not Eval(folder / "eval", random, log).interrupted(arguments.ctrl_c)
        until = time.monotonic() + 60 * arguments.minutes
        return not disturb([MADE[name](folder / name, random, log) for name in arguments.commands], until)


def disturb(disturbed: Sequence[Command | Desk], until: float) -> bool:
    """Disturb all until then, each for about as long; whether all held, said in a line for each."""
    seconds = dict.fromkeys(disturbed, 0.0)
    while (now := time.monotonic()) < until:
        each = min(disturbed, key=seconds.__getitem__)
        each.disturbed_once()
        seconds[each] += time.monotonic() - now
    for each in disturbed:
        each.say(f"{dict(each.counted)}, slowest end after Ctrl-C or SIGTERM: {each.slowest:.1f} s, problems: {len(each.problems)}")
        each.close()
    return not any(each.problems for each in disturbed)


class Disturbed:
    """A command that is struck again and again."""

    def __init__(self, folder: Path, random: np.random.Generator, log: TextIO | None):
        self.folder, self.random, self.log = folder, random, log
        self.counted: Counter[str] = Counter()
        self.problems: list[str] = []
        self.slowest = 0.0
        folder.mkdir()

    def compared(self) -> None:
        self.counted["comparisons"] += 1
        self.say(f"{dict(self.counted)} so far, problems: {len(self.problems)}")

    def close(self) -> None:
        """Stop what serves the command."""

    def say(self, line: str) -> None:
        for stream in filter(None, (sys.stdout, self.log)):
            print(f"{time.strftime('%H:%M:%S')} {self.folder.name}: {line}", file=stream, flush=True)

    def problem(self, line: str) -> None:
        self.problems.append(line)
        self.say(f"PROBLEM: {line}")

    def start(self, words: Sequence[object], full_disk: bool = False, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        largest = int(np.exp(self.random.uniform(np.log(SMALLEST), np.log(LARGEST)))) if full_disk else resource.RLIM_INFINITY

        def limited() -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what was started in the background
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))

        call = [sys.executable, "-m", "lookback", *map(str, words)]
        return subprocess.Popen(call, stdout=stdout, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=limited)

    def struck(self, process: subprocess.Popen[str], what: str, early: int = 0) -> None:
        """Strike, wait for the end, and judge how it ended; `early` is the exit code of a process that ended before."""
        while what in ("Ctrl-C", "SIGTERM") and process.poll() is None and not handles_signals(process.pid):
            time.sleep(0.01)
        began, hit = time.monotonic(), what != "kill of a worker"
        with suppress(ProcessLookupError, psutil.Error):
            if what == "kill of a worker":
                while process.poll() is None and not hit:
                    for worker in workers_of(process.pid)[:1]:
                        worker.kill()
                        hit = True
            elif what in ("Ctrl-C", "kill of the group"):
                os.killpg(process.pid, signal.SIGINT if what == "Ctrl-C" else signal.SIGKILL)
            elif what != "full disk":
                process.send_signal(signal.SIGTERM if what == "SIGTERM" else signal.SIGKILL)
        self.ended(process, {early, STRIKES[what]}, what)
        took, hit = time.monotonic() - began, hit and process.returncode == STRIKES[what]
        if process.returncode in STOPPED:
            self.slowest = max(self.slowest, took)
            if took > ENDS_WITHIN_S:
                self.problem(f"{what}: ended after {took:.1f} s")
        self.counted[what if hit else f"{what} too late"] += 1
        self.say(f"{what}{'' if hit else ' too late'}, exit code {process.returncode} after {took:.1f} s")

    def ended(self, process: subprocess.Popen[str], codes: set[int], what: str) -> None:
        try:
            _, said = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said = process.communicate()[1] + "\nit hung"
        odd = process.returncode not in codes or any(word in said for word in CRASHED)
        if odd or (process.returncode in STOPPED and "lookback: stopped" not in said):
            self.problem(f"{what}: exit code {process.returncode}; {said[-1500:]}")


class Command(Disturbed):
    """A command that makes a run folder, with the words before and after `--output FOLDER`."""

    strikes: Sequence[str] = tuple(STRIKES)

    def __init__(self, folder: Path, random: np.random.Generator, log: TextIO | None):
        super().__init__(folder, random, log)
        self.output, self.reference = folder / "run", folder / "undisturbed"
        self.words = self.made()
        began = time.monotonic()
        self.finish("no disturbance")
        self.seconds = time.monotonic() - began
        self.say(f"undisturbed in {self.seconds:.0f} s, {len(outputs(self.output))} files to compare")
        self.output.rename(self.reference)

    def made(self) -> list[object]:
        """Write the data; the words of the command."""
        raise NotImplementedError

    def finish(self, what: str) -> None:
        self.ended(self.start(self.words), {0}, what)

    def disturbed_once(self) -> None:
        """A few disturbances, then the rest undisturbed, and a comparison."""
        for what in map(str, self.random.choice(self.strikes, int(self.random.integers(1, FEW + 1)))):
            self.strike(what)
        self.finish("the last start")
        for name in compare(self.reference, self.output):
            self.problem(f"differs: {name}")
        for path in self.output.rglob("*"):
            if LEFT.match(path.name):
                self.problem(f"left behind: {path}")
        shutil.rmtree(self.output)
        self.compared()

    def strike(self, what: str) -> None:
        process = self.start(self.words, what == "full disk")
        if what != "full disk":
            with suppress(subprocess.TimeoutExpired):
                process.wait(self.seconds * self.random.uniform() ** 2)  # often early: later starts find much done already
        self.struck(process, what)

    def interrupted(self, tries: int) -> bool:
        """Ctrl-C while two workers are busy, so many times; the seconds until the command has ended."""
        seconds: list[float] = []
        self.say(f"load before: {os.getloadavg()}")
        while len(seconds) < tries:
            process = self.start(self.words)
            while process.poll() is None and len(workers_of(process.pid)) < 2:
                time.sleep(0.02)
            with suppress(subprocess.TimeoutExpired):
                process.wait(float(self.random.uniform(0, BUSY_S)))
            before, self.slowest = self.counted["Ctrl-C"], 0.0
            self.struck(process, "Ctrl-C")
            seconds += [self.slowest] * (self.counted["Ctrl-C"] - before)
            shutil.rmtree(self.output, ignore_errors=True)
        shares = ", ".join(f"{share:.0%}: {np.quantile(seconds, share):.2f} s" for share in (0, 0.5, 0.9, 1))
        self.say(f"{tries} Ctrl-C's, ended after {shares}; problems: {len(self.problems)}; load after: {os.getloadavg()}")
        return not self.problems


class Eval(Command):
    def made(self) -> list[object]:
        write_clips(self.folder / "clips", self.random)
        return ["eval", self.folder / "clips", "--layout", "folder", "--output", self.output, "--workers", 2, "--metrics", QUICK]


class Report(Command):
    def made(self) -> list[object]:
        write_clips(self.folder / "clips", self.random)
        scoring = {"metrics": QUICK.split(","), "resamples": 100}
        return ["report", "--run", run_file(self.folder, self.folder / "clips", scoring=scoring, forensics={"max_cases": 1})]


class Judge(Command):
    """The answers of the chat server depend on the question alone."""

    strikes = (*STRIKES, *["kills of the judge"] * 3)
    server: BaseProcess | None = None

    def made(self) -> list[object]:
        data = mbench(self.folder / "data", "T", tuple(f"model{number}" for number in range(6)))
        self.port = free_port()
        self.serve()
        call = ["eval", data, "--output", self.output, "--workers", 2, "--metrics", JUDGED, "--set", "judging.concurrency=1"]
        return [*call, "--vlm-judge", "openai", "--vlm-model", "m", "--vlm-base-url", f"http://127.0.0.1:{self.port}/v1"]

    def serve(self) -> None:
        self.close()
        self.server = multiprocessing.get_context("fork").Process(target=serve_answers, args=(self.port,), daemon=True)
        self.server.start()

    def close(self) -> None:
        if self.server:
            self.server.kill()
            self.server.join()

    def strike(self, what: str) -> None:
        if what in STRIKES:
            return super().strike(what)
        process, kills = self.start(self.words), self.counted[what]
        while process.poll() is None and not (self.output / "judge_cache").is_dir():
            time.sleep(0.02)
        while process.poll() is None:
            self.close()
            time.sleep(float(self.random.uniform(0, 4)))  # a call is tried for about as long
            self.serve()
            self.counted[what] += 1
            with suppress(subprocess.TimeoutExpired):
                process.wait(float(self.random.uniform(0, 3)))
        self.ended(process, {0}, what)
        self.say(f"{self.counted[what] - kills} {what}, exit code {process.returncode}")


class Desk(Disturbed):
    """The server of a study. What a rater answers depends on the rater and the item alone."""

    full = False  # whether the server runs on a full disk

    def __init__(self, folder: Path, random: np.random.Generator, log: TextIO | None):
        super().__init__(folder, random, log)
        data = mbench(folder / "data", "T", tuple(f"model{number}" for number in range(6)))
        run = run_file(folder, data)
        self.ended(self.start(["report", "--run", run, "--stage", "curation"]), {0}, "curation")
        (folder / "study.yaml").write_text("{form: mbench_pairwise, limit: 24, raters: 3, watch: false, practice: false}")
        self.study, self.port = folder / "run" / "studies" / "mbench_pairwise", free_port()
        self.words = ["annotate", "--run", run, "--study", folder / "study.yaml", "--port", self.port]
        self.reference = self.round(lambda server: server, LONGEST_S)
        self.say(f"undisturbed: {len(self.reference)} votes")

    def disturbed_once(self) -> None:
        votes = self.round(self.started_again, 10)
        if not votes.equals(self.reference):
            self.problem(f"differs:\n{pd.concat([votes, self.reference]).drop_duplicates(keep=False)}")
        self.compared()

    def started_again(self, server: subprocess.Popen[str]) -> subprocess.Popen[str]:
        self.struck(server, str(self.random.choice(["Ctrl-C", "SIGTERM", "kill", "kill of the group"])), 1 if self.full else 0)
        self.full = bool(self.random.uniform() < 0.2)
        self.counted["full disk"] += self.full
        return self.start(self.words, self.full)

    def round(self, disturb: Callable[[subprocess.Popen[str]], subprocess.Popen[str]], longest: float) -> pd.DataFrame:
        """A whole study; the exported votes without their times. The server is disturbed again and again until all have voted."""
        server = self.start([*self.words, *(part for name in RATERS for part in ("--annotator", name))], stdout=subprocess.PIPE)
        tokens: dict[str, str] = {}
        while "organiser" not in tokens:
            line = server.stdout.readline()  # type: ignore[union-attr]
            if not line:
                raise SystemExit(f"the desk did not start: {server.communicate()[1]}")
            who, _, link = line.strip().partition(": http")
            tokens |= {who: parse_qs(urlsplit(link).query)["token"][0]} if link else {}
        self.full, over = False, threading.Event()
        raters = [Rater(name, Visitor(SimpleNamespace(port=self.port)).enter(tokens[name]), over) for name in RATERS]
        with ThreadPoolExecutor(len(RATERS)) as together:
            try:
                work = [together.submit(rater.work) for rater in raters]
                while wait(work, float(self.random.uniform(0, longest))).not_done:
                    server = disturb(server)
            finally:
                over.set()
        for done, rater in zip(work, raters, strict=True):
            done.result()
            for problem in rater.problems:
                self.problem(problem)
        self.struck(server, "Ctrl-C", 1 if self.full else 0)
        self._check_book(raters)
        self.ended(self.start([*self.words[:-2], "--export", self.folder / "votes.csv"]), {0}, "export")
        shutil.rmtree(self.study)
        return pd.read_csv(self.folder / "votes.csv").drop(columns="time")

    def _check_book(self, raters: Sequence[Rater]) -> None:
        """Every vote that was acknowledged is stored once, and no other than those that were sent."""
        with closing(sqlite3.connect(self.study / "votes.sqlite")) as book:
            (sound,) = book.execute("PRAGMA integrity_check").fetchone()
            stored = book.execute(
                "SELECT annotator, item, task || '/' || dimension, COUNT(*) FROM votes GROUP BY 1, 2, 3"
            ).fetchall()
        if sound != "ok":
            self.problem(f"the vote book is damaged: {sound}")
        for rater in raters:
            own = Counter({(item, question): times for name, item, question, times in stored if name == rater.name})
            acknowledged = Counter(rater.acknowledged)
            self.counted["votes"] += acknowledged.total()
            self.counted["votes stored, answer lost"] += (own - acknowledged).total()
            lost, odd = acknowledged - own, set(own) - rater.sent
            if lost or odd or set(own.values()) > {1}:
                self.problem(f"{rater.name}: lost {lost}, doubled or never sent {odd or own}")


class Rater:
    """Votes until nothing is left, whatever happens to the server."""

    def __init__(self, name: str, visitor: Visitor, over: threading.Event):
        self.name, self.visitor, self.over = name, visitor, over
        self.sent: set[tuple[str, str]] = set()  # item and question
        self.acknowledged: list[tuple[str, str]] = []
        self.problems: list[str] = []

    def work(self) -> None:
        view = self.ask("/api/now")
        while view.get("stage") != "finished" and not self.over.wait(PAUSE_S):
            item = view.get("item")
            if "stage" not in view:  # refused: answered already, or the disk is full
                view = self.ask("/api/now")
            elif item is None:
                view = self.ask("/api/read", {})
            else:
                answers = {each["id"]: self.answer(item["id"], each) for each in item["questions"]}
                view = self.ask("/api/vote", {"item": item["id"], "answers": answers})
                self.acknowledged += [(item["id"], question) for question in answers] if "stage" in view else []

    def answer(self, item: str, question: dict[str, Any]) -> str:
        labels = [choice["label"] for choice in question["choices"]]
        return labels[number_of(self.name, item, question["id"]) % len(labels)]

    def ask(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """What the page gets; asked again while nobody answers. A refused vote comes as its sentence."""
        self.sent |= {(body["item"], question) for question in body["answers"]} if body else set()
        tried = False
        while not self.over.is_set():
            with suppress(OSError, HTTPException):
                status, _, content = self.visitor.ask(path, body)
                if status not in (200, 500) and not (tried and status == 409):
                    self.problems.append(f"{self.name}: {path} was answered with {status}: {content.decode()}")
                return json.loads(content)
            tried = True
            time.sleep(0.1)
        return {}


MADE: dict[str, type[Command | Desk]] = {"eval": Eval, "report": Report, "desk": Desk, "judge": Judge}


def write_clips(folder: Path, random: np.random.Generator) -> None:
    (folder / "model").mkdir(parents=True)
    for number in range(4):
        picture = random.integers(0, 255, (4, 6, 3)).astype(np.uint8).repeat(24, 0).repeat(32, 1)
        encode(folder / "model" / f"clip{number}.mp4", np.stack([np.roll(picture, 2 * step, 1) for step in range(16)]), 8.0)


def run_file(folder: Path, data: Path, **sections: Any) -> Path:
    """A run over the data, in the folder's `run`."""
    params = {"output": str(folder / "run"), "workers": 2, "curation": {"sources": [{"root": str(data)}]}, **sections}
    (folder / "soak.yaml").write_text(json.dumps(params))
    return folder / "soak.yaml"


def number_of(*words: str) -> int:
    """A number that depends on the words alone."""
    return int(hashlib.sha256("\n".join(words).encode()).hexdigest()[:8], 16)


def serve_answers(port: int) -> None:
    """Serve a chat endpoint until killed."""
    with ChatServer(_answer, latency_s=0.2, port=port):
        threading.Event().wait()


def _answer(body: dict[str, Any], number: int) -> Sent:
    score = number_of(json.dumps(body["messages"], sort_keys=True))
    return completion(json.dumps({"answer": "yes" if score % 2 else "no", "score": 1 + score % 5}))


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def handles_signals(process: int) -> bool:
    """Whether the command's own code runs already. Before, Python would end in its own way."""
    caught = Path(f"/proc/{process}/status").read_text().partition("SigCgt:")[2].split()[0]
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def workers_of(process: int) -> list[psutil.Process]:
    """The processes of the pools that the process, or one that it started, keeps at work."""
    found = []
    with suppress(psutil.Error):
        for each in psutil.Process(process).children(recursive=True):
            with suppress(psutil.Error):  # it ended just now
                if "spawn_main" in " ".join(each.cmdline()):
                    found.append(each)
    return found


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
