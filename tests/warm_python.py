"""A Python that starts in no time: processes fork from one that has imported the large libraries already.

`WarmPython(python)` writes a program that is called like Python itself (`-c code`, `-m module`, `script.py`). It sends its
arguments, folder, variables and open files to a server, which forks. The fork runs the program, and the caller gets its exit
status. Importing pandas, scipy and torch takes seconds, and a run of eight notebooks would do that sixteen times. Tests that kill
processes, or ask what a process imports, use the real Python.

No module of lookback is imported before the fork: every process reads its own code, and finds plug-ins by itself.
"""

from __future__ import annotations

import array
import atexit
import fcntl
import gc
import json
import multiprocessing
import os
import runpy
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path

LIBRARIES = (
    "pandas", "scipy.stats", "scipy.optimize", "scipy.ndimage", "torch", "pyarrow.parquet", "pandera", "pydantic", "cv2", "av",
    "PIL.Image", "yaml", "rich.progress", "typer", "matplotlib.figure", "statsmodels.api", "narwhals", "jinja2",
    "hypothesis", "xarray", "papermill", "jupyter_client", "IPython", "requests", "seaborn", "ipywidgets",
    "nbconvert", "sklearn.metrics", "torchmetrics.functional.image", "transformers", "numba",
)  # fmt: skip
MOST_FILES = 253  # that one message may carry
INLINE = "module://matplotlib_inline.backend_inline"
# Python in the place of the shell, by a line that is a text to Python: after "#!" no path may have a space
PROGRAM = """#!/bin/sh
'''exec' "{python}" -IS "$0" "$@"
'''
import array, json, os, signal, socket, struct, sys, time
while sys.argv[1:2] and sys.argv[1] in ("-B", "-u"):
    del sys.argv[1]
numbers = [0, 1, 2]
for name in os.listdir("/proc/self/fd"):
    if int(name) > 2 and os.path.exists("/proc/self/fd/" + name):  # the folder that is listed is closed again
        numbers.append(int(name))
until = time.monotonic() + 900  # the server imports for seconds, on a crowded machine for minutes
while not os.path.exists({place!r}) and time.monotonic() < until:
    time.sleep(0.02)
wire = socket.socket(socket.AF_UNIX)
wire.connect({place!r})
asked = json.dumps([numbers, sys.argv, os.getcwd(), dict(os.environ)]).encode()
wire.sendmsg([struct.pack("I", len(asked))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", numbers))])
wire.sendall(asked)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, frame: wire.sendall(bytes([number])))
status = struct.unpack("i", wire.recv(4) or struct.pack("i", 1))[0]
if status < 0:
    if status != -signal.SIGKILL:
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
sys.exit(status)
"""


class WarmPython:
    """The server of one environment, and the program that asks it. Everything it started ends with it."""

    def __init__(self, python: Path, program: Path):
        """The server of `python` starts, and `program` is written, which waits for it."""
        self.folder = Path(tempfile.mkdtemp(prefix="warm"))  # short: a socket's path has at most 104 characters
        place, self.program = str(self.folder / "socket"), program
        call = [str(python), __file__, place, str(program), str(os.getpid())]
        own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # every call brings its own
        self.server = subprocess.Popen(call, env=own, stdin=subprocess.DEVNULL, start_new_session=True)
        program.write_text(PROGRAM.format(python=python, place=place))
        program.chmod(0o755)

    def close(self) -> None:
        os.killpg(self.server.pid, signal.SIGTERM)
        self.server.wait()
        shutil.rmtree(self.folder)


def serve(place: str, program: str, owner: int) -> None:
    """Fork for every call. Returns in the forked process, which is then to be the program."""
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment] # as in lookback.without_iri_grammar
    for name in LIBRARIES:
        try:
            import_module(name)
        except ModuleNotFoundError:  # an environment with few extras
            continue
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGTERM, _end)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place + ".new")
    listener.listen(64)
    Path(place + ".new").rename(place)  # whoever sees it can connect
    while os.getppid() == owner:
        if select.select([listener], [], [], 1.0)[0]:
            wire, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                return _keep(wire, program)
            wire.close()
        _reap()
    os.killpg(0, signal.SIGKILL)


def _end(number: int, frame: object) -> None:
    """The others of the group got the signal, too; what they used counts for this process."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _reap(wait=True)
    os._exit(0)


def _reap(wait: bool = False) -> None:
    try:
        while os.waitpid(-1, 0 if wait else os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _keep(wire: socket.socket, program: str) -> None:
    """Start the program, hand signals on to it, and tell its status. When the caller is gone, the program is killed."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    head, rights, _, _ = wire.recvmsg(4, socket.CMSG_SPACE(4 * MOST_FILES))
    files = array.array("i", rights[0][2])
    size, asked = struct.unpack("I", head)[0], b""
    while len(asked) < size:
        asked += wire.recv(size - len(asked))
    child = os.fork()
    if child == 0:
        wire.close()
        return _become(program, files, *json.loads(asked))
    for file in files:
        os.close(file)
    ended = os.pidfd_open(child)
    while True:
        ready = select.select([ended, wire], [], [])[0]
        if ended in ready:
            _, status = os.waitpid(child, 0)
            with suppress(BrokenPipeError):  # the caller was killed a moment ago
                wire.sendall(struct.pack("i", os.waitstatus_to_exitcode(status)))
            os._exit(0)
        told = wire.recv(1)
        os.kill(child, told[0] if told else signal.SIGKILL)
        if not told:
            os.waitpid(child, 0)
            os._exit(1)


def _become(
    program: str, files: array.array[int], numbers: list[int], arguments: list[str], folder: str, variables: dict[str, str]
) -> None:
    """This process as Python would have started it, up to the program's first line."""
    aside = [fcntl.fcntl(file, fcntl.F_DUPFD, max(numbers) + 1) for file in files]  # nobody's number is taken by another
    for file in files:
        os.close(file)
    for number, file in zip(numbers, aside, strict=True):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    path = [name for name in variables.get("PYTHONPATH", "").split(os.pathsep) if name and name not in sys.path]
    os.environ.clear()
    os.environ.update(variables)
    os.environ["JPY_PARENT_PID"] = str(os.getppid()) if "JPY_PARENT_PID" in variables else ""
    sys.path[:1] = path  # the folder of this file goes
    sys.executable = program
    multiprocessing.set_executable(program)
    sys.argv = arguments[1:]
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    backend = variables.get("MPLBACKEND") or (INLINE if "ipykernel_launcher" in arguments else "")
    if backend and "matplotlib" in sys.modules:  # it reads the variable, which a kernel sets, when it is imported
        sys.modules["matplotlib"].rcParams["backend"] = backend


def be_the_program() -> int:
    """Run what the arguments name; the exit status."""
    kind = sys.argv[0]
    try:
        if kind == "-c":
            code = compile(sys.argv.pop(1), "<string>", "exec")
            sys.path.insert(0, "")
            sys.modules["__main__"] = main = type(sys)("__main__")
            exec(code, main.__dict__)
        elif kind == "-m":
            sys.path.insert(0, str(Path.cwd()))
            del sys.argv[0]
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(kind).resolve().parent))
            runpy.run_path(kind, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    status = be_the_program()
    threading._shutdown()  # what Python does at its end, but for taking every module apart, which takes half a second
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
