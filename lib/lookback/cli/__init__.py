"""The command line. Exit 0 = done, 1 = the data broke a contract, 2 = wrong call; errors say what, where and what to do.

Ctrl-C and SIGTERM (docker stop, a cluster's scheduler) end every command alike: in order, or at once after PATIENCE_S.
This file imports nothing that takes long, so that an interrupt works from the first moment.
"""

import atexit
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
BY_SIGNAL = 128  # plus the signal's number: the usual exit code of a command that it ended
PATIENCE_S = 2.0
SENTENCE = "lookback: stopped; finished work is kept, the same command goes on from there"


def main() -> None:
    """Run the command line. Errors become sentences and exit codes here and nowhere else."""
    _on_signals(_leave)
    atexit.register(_on_signals, signal.SIG_IGN)  # runs last: Python's own handlers would then replace the exit code
    from lookback.cli.app import app
    from lookback.errors import FULL_DISK, LookbackError
    from lookback.extras import why_not_imported
    from lookback.files import unwritable
    from lookback.names import printable

    _on_signals(_stop)  # from here on, an interrupt must end the work in order
    code: str | int | None = BY_SIGNAL + signal.SIGINT
    try:
        with _ended_in_time():
            app()
    except SystemExit as end:
        code = end.code
    except LookbackError as error:
        print(f"lookback: {printable(str(error))}", file=sys.stderr)
        code = error.exit_code
    except ImportError as error:
        missing = why_not_imported(error)
        if missing is None:
            raise
        print(f"lookback: {missing}", file=sys.stderr)
        code = missing.exit_code
    except OSError as error:
        if error.errno not in FULL_DISK:
            raise
        print(f"lookback: {unwritable(Path(error.filename or tempfile.gettempdir()), error)}", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        pass
    _on_signals(_leave)
    if code == BY_SIGNAL + signal.SIGINT:  # typer makes this of every KeyboardInterrupt
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        _tell()
        atexit._run_exitfuncs()  # the rest of Python's end waits for threads, and they for work that nobody wants any more
        os._exit(BY_SIGNAL + _came)
    sys.exit(code)


_came: int = signal.SIGINT
_told = False


def _on_signals(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in SIGNALS:
        signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    """End the work in order; at once if the signal comes again."""
    global _came
    _came = number
    _on_signals(_leave)
    raise KeyboardInterrupt


@contextmanager
def _ended_in_time() -> Iterator[None]:
    """Inside, a thread watches for signals: native code may keep `_stop` waiting, and so may what ends in order."""
    arrived, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    threading.Thread(target=_leave_late, args=(arrived,), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(-1)
        os.close(told)


def _leave_late(arrived: int) -> None:
    """Exit at PATIENCE_S after a signal, with all that was started."""
    with os.fdopen(arrived, "rb", buffering=0) as signals:
        number = next((number for (number,) in iter(lambda: signals.read(1), b"") if number in SIGNALS), None)
    if number is None:
        return
    time.sleep(PATIENCE_S)
    import psutil

    with suppress(psutil.Error):
        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                child.kill()
    _leave(number)


def _leave(number: int, frame: FrameType | None = None) -> None:
    """Exit at once. While Python starts or ends, an exception could be lost or shown as a traceback, and no work is in progress."""
    _tell()
    os._exit(BY_SIGNAL + number)


def _tell() -> None:
    global _told
    if not _told:
        _told = True
        with suppress(OSError):
            os.write(2, f"{SENTENCE}\n".encode())
