"""The runner's side: a program that keeps one model loaded and answers clip after clip.

lookback starts it with the Python of the model's own environment: `python child SCRIPT`. SCRIPT is a file of `scripts`. Its
function `load(checkpoint, device, options)` gives a function from a `ClipInput` to named arrays. Everything that the model prints
goes to the log. The program ends when lookback ends.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, BinaryIO

import channel  # this file's folder is the first place where Python looks
import numpy as np

ANSWERS: BinaryIO  # to lookback; opened by `main`


class ClipInput:
    """One clip: all its frames uint8 (n,H,W,3), and what is known about it."""

    def __init__(self, frames: np.ndarray, facts: dict):
        self.frames = frames
        self.facts = facts

    def progress(self, done: int, total: int) -> None:
        """Tell lookback how far the work is."""
        channel.send(ANSWERS, "progress", done=done, total=total)


def leave_with_parent(parent: int) -> None:
    """End when the parent is gone, even in the middle of a forward pass."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def load(script: str, fields: dict):
    sys.path[:0] = fields["paths"]
    spec = importlib.util.spec_from_file_location(f"runner_{Path(script).stem}", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load(fields["checkpoint"], fields["device"], fields["options"])


def describe() -> dict:
    """The versions that an answer depends on, and the most memory that was held on the device."""
    found = {"python": sys.version.split()[0], "numpy": np.__version__}
    if (torch := sys.modules.get("torch")) is not None:
        found["torch"] = torch.__version__
        if torch.cuda.is_initialized():
            found["device_name"] = torch.cuda.get_device_name()
            found["device_memory_mb"] = round(torch.cuda.max_memory_allocated() / 2**20)
    return found


def failure(error: BaseException) -> dict:
    """The typed reason of a failed clip."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_initialized():
            torch.cuda.empty_cache()
        return {"reason": "backend_failed", "message": "out of memory: the whole clip goes through the model at once"}
    first = (str(error).splitlines() or [""])[0]
    return {"reason": "backend_failed", "message": f"{type(error).__name__}: {first}"[:500]}


def serve(requests, script: str) -> None:
    run: Any = None
    frames: list[np.ndarray] = []
    facts: dict = {}
    while True:
        kind, fields, arrays = channel.receive(requests)
        try:
            if kind == "load":
                run = load(script, fields)
                channel.send(ANSWERS, "ready", facts=describe())
            elif kind == "clip":
                frames, facts = [], fields["facts"]
            elif kind == "frames":
                frames.append(arrays["frames"])
            elif kind == "run":
                found = run(ClipInput(np.concatenate(frames), facts))
                frames = []
                channel.send(ANSWERS, "result", arrays=found, facts=describe())
        except channel.Closed:
            raise
        except Exception as error:  # whatever the model's code raises is this clip's reason; the process goes on
            traceback.print_exc(file=sys.stderr)
            frames = []
            channel.send(ANSWERS, "failed", **failure(error))


def main() -> None:
    global ANSWERS
    ANSWERS = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a model prints goes to the log and not between the messages
    threading.Thread(target=leave_with_parent, args=(os.getppid(),), daemon=True).start()
    try:
        serve(sys.stdin.buffer, sys.argv[1])
    except channel.Closed:
        return


if __name__ == "__main__":
    main()
