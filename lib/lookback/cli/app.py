"""The `lookback` command: its subcommands, and the one place where errors become sentences and exit codes."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import typer

from lookback.cli import evaluate, inventory, report, results
from lookback.errors import FULL_DISK, LookbackError
from lookback.files import unwritable

app = typer.Typer(
    help="Measure the memory of video world models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for commands in (inventory, evaluate, results, report):
    commands.register(app)


def main() -> None:
    """Run the command line."""
    try:
        app()
    except LookbackError as error:
        print(f"lookback: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:
        if error.errno not in FULL_DISK:
            raise
        print(f"lookback: {unwritable(Path(error.filename or tempfile.gettempdir()), error)}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("lookback: stopped; finished work is kept, the same command goes on from there", file=sys.stderr)
        sys.exit(130)
