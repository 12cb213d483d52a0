"""lookback's side of a runner: start it, send it clips, and turn whatever goes wrong into a typed reason."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import psutil

from lookback.errors import BackendUnavailable, NotScorable, Reason
from lookback.runners.child import channel
from lookback.scratch import scratch_folder

CHILD = Path(__file__).parent / "child" / "__main__.py"
SHOWN_LOG = 3  # lines of the runner's log in a message
POLL_SECONDS = 0.5

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Launch:
    """How a runner is started."""

    name: str
    python: Path  # of the model's own environment
    script: Path  # of the folder `child/scripts`
    checkpoint: Path | None = None
    paths: tuple[str, ...] = ()  # source trees that the environment does not hold as packages
    device: str = "cpu"
    options: Mapping[str, Any] | None = None
    load_seconds: float = 900.0
    clip_seconds: float = 3600.0
    memory_gb: float = 0.0  # of the process on the host; 0: no limit


@dataclass(frozen=True)
class Answer:
    """What the model gave for one clip: its arrays as it returns them, and facts about the run."""

    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]


class Runner:
    """One warm child process. It is started on the first clip, and again after it died."""

    def __init__(self, launch: Launch):
        self.launch = launch
        self.process: subprocess.Popen[bytes] | None = None
        self.messages: queue.Queue[tuple[str, dict[str, Any], dict[str, np.ndarray]]] = queue.Queue()
        self.log: IO[bytes] | None = None
        self.facts: dict[str, Any] = {}

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, **facts: Any) -> None:
        """A new clip; `facts` say what is known about it (fps, prompt, video)."""
        self._started()
        self._send("clip", facts=facts)

    def push(self, frames: np.ndarray) -> None:
        """The next frames of the clip, uint8 RGB (n,H,W,3)."""
        self._send("frames", arrays={"frames": frames})

    def answer(self, progress: Progress | None = None) -> Answer:
        """Run the model on the clip. NotScorable with a typed reason when it fails, takes too long or needs too much memory."""
        self._send("run")
        fields, arrays = self._wait("result", self.launch.clip_seconds, progress)
        return Answer(arrays, {**self.facts, **fields["facts"]})

    def close(self) -> None:
        """End the process."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()
        if self.log is not None:
            self.log.close()
            self.log = None

    # -- the process ---------------------------------------------------------------------------------------------------------------
    def _started(self) -> None:
        if self.process is not None and self.process.poll() is None:
            return
        self.close()
        launch = self.launch
        with scratch_folder("runner") as folder:  # the log outlives its name: it is open on both sides
            self.log = (folder / "log").open("w+b")
        command = [str(launch.python), str(CHILD), str(launch.script)]
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, env=_environment(), bufsize=-1
            )
        except OSError as error:
            raise BackendUnavailable(f"The model '{launch.name}' cannot be started: {error}", self._remedy()) from None
        self.messages = queue.Queue()
        threading.Thread(target=_listen, args=(self.process.stdout, self.messages), daemon=True).start()
        checkpoint = str(launch.checkpoint) if launch.checkpoint is not None else ""
        try:
            self._send(
                "load", checkpoint=checkpoint, device=launch.device, options=dict(launch.options or {}), paths=list(launch.paths)
            )
            self.facts = self._wait("ready", launch.load_seconds)[0]["facts"]
        except NotScorable as error:
            self.close()
            raise BackendUnavailable(f"The model '{launch.name}' cannot be loaded: {error.detail}", self._remedy()) from None

    def _send(self, kind: str, arrays: dict[str, np.ndarray] | None = None, **fields: Any) -> None:
        assert self.process is not None and self.process.stdin is not None
        try:
            channel.send(self.process.stdin, kind, arrays, **fields)
        except channel.Closed:
            raise self._died() from None

    def _wait(self, wanted: str, seconds: float, progress: Progress | None = None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The next answer of the wanted kind. Progress messages are passed on; time and memory are watched meanwhile."""
        end = time.monotonic() + seconds
        while True:
            try:
                kind, fields, arrays = self.messages.get(timeout=POLL_SECONDS)
            except queue.Empty:
                self._check_limits(end, seconds)
                continue
            if kind == "progress" and progress is not None:
                progress(fields["done"], fields["total"])
            elif kind == "closed":
                raise self._died()
            elif kind == "failed":
                raise NotScorable(Reason(fields["reason"]), f"{self.launch.name}: {fields['message']}")
            elif kind == wanted:
                return fields, arrays

    def _check_limits(self, end: float, seconds: float) -> None:
        if time.monotonic() > end:
            self.close()
            raise NotScorable(Reason.BACKEND_FAILED, f"{self.launch.name} gave no answer within {seconds:g} s and was ended")
        limit = self.launch.memory_gb
        if limit and self.process is not None and _resident_gb(self.process.pid) > limit:
            self.close()
            raise NotScorable(Reason.BACKEND_FAILED, f"{self.launch.name} held more than {limit:g} GB of memory and was ended")

    def _died(self) -> NotScorable:
        code = self.process.wait() if self.process is not None else None
        words = f"{self.launch.name} ended by itself (exit {code}): {self._last_words()}"
        self.close()
        return NotScorable(Reason.BACKEND_FAILED, words)

    def _last_words(self) -> str:
        """The end of the runner's log, in one line."""
        if self.log is None:
            return "no log"
        self.log.seek(max(0, self.log.seek(0, os.SEEK_END) - 4000))
        lines = [line.strip() for line in self.log.read().decode(errors="replace").splitlines() if line.strip()]
        return " | ".join(lines[-SHOWN_LOG:]) or "it wrote nothing"

    def _remedy(self) -> str:
        return f"Run: lookback models doctor {self.launch.name}"


def _environment() -> dict[str, str]:
    """The child's variables: without those that would put this environment's packages into it. Nothing may be downloaded."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    return {**kept, "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}


def _listen(stream: IO[bytes] | None, messages: queue.Queue[Any]) -> None:
    """Read messages until the other side ends."""
    assert stream is not None
    try:
        while True:
            messages.put(channel.receive(stream))
    except (channel.Closed, ValueError, OSError):
        messages.put(("closed", {}, {}))


def _resident_gb(pid: int) -> float:
    """Memory of a process and its children."""
    try:
        process = psutil.Process(pid)
        return sum(each.memory_info().rss for each in [process, *process.children(recursive=True)]) / 1e9
    except psutil.Error:
        return 0.0
