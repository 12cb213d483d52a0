"""The command line. Exit 0 = done, 1 = the data broke a contract, 2 = wrong call; errors say what, where and what to do.

Nothing heavy is imported here: an interrupt is answered from the first moment on.
"""

import os
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType

STOPPED = 130  # what a shell expects of a command that was interrupted
SENTENCE = "lookback: stopped; finished work is kept, the same command goes on from there"


def main() -> None:
    """Run the command line: the one place where errors become sentences and exit codes."""
    signal.signal(signal.SIGINT, _leave)
    from lookback.cli.app import app
    from lookback.errors import FULL_DISK, LookbackError
    from lookback.files import unwritable
    from lookback.hiding import hide
    from lookback.names import printable

    signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on there is work to put away
    code: str | int | None = STOPPED
    try:
        app()
    except SystemExit as end:
        code = end.code
    except LookbackError as error:
        print(f"lookback: {printable(hide(str(error)))}", file=sys.stderr)
        code = error.exit_code
    except OSError as error:
        if error.errno not in FULL_DISK:
            raise
        print(f"lookback: {unwritable(Path(error.filename or tempfile.gettempdir()), error)}", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        pass
    if code == STOPPED:
        print(SENTENCE, file=sys.stderr)
    signal.signal(signal.SIGINT, _leave)
    sys.exit(code)


def _leave(signal_number: int, frame: FrameType | None) -> None:
    """While Python starts or ends an exception may be lost or shown as a traceback, and there is nothing to put away."""
    os.write(2, f"{SENTENCE}\n".encode())
    os._exit(STOPPED)
