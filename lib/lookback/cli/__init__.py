"""The command line. Exit 0 = done, 1 = the data broke a contract, 2 = wrong call; errors say what, where and what to do.

This file imports nothing that takes long, so that an interrupt works from the first moment.
"""

import os
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType

STOPPED = 130  # the usual exit code of an interrupted command
SENTENCE = "lookback: stopped; finished work is kept, the same command goes on from there"


def main() -> None:
    """Run the command line. Errors become sentences and exit codes here and nowhere else."""
    signal.signal(signal.SIGINT, _leave)
    from lookback.cli.app import app
    from lookback.errors import FULL_DISK, LookbackError
    from lookback.extras import why_not_imported
    from lookback.files import unwritable
    from lookback.names import printable

    signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on, an interrupt must end the work in order
    code: str | int | None = STOPPED
    try:
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
    if code == STOPPED:
        print(SENTENCE, file=sys.stderr)
    signal.signal(signal.SIGINT, _leave)
    sys.exit(code)


def _leave(signal_number: int, frame: FrameType | None) -> None:
    """Exit at once. While Python starts or ends, an exception could be lost or shown as a traceback, and no work is in progress."""
    os.write(2, f"{SENTENCE}\n".encode())
    os._exit(STOPPED)
