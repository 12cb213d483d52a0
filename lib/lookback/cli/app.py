"""The `lookback` command: its subcommands, and the one place where errors become sentences and exit codes."""

from __future__ import annotations

import sys

import typer

from lookback.cli import evaluate, inventory, report, results, selfcheck
from lookback.errors import LookbackError

app = typer.Typer(
    help="Measure the memory of video world models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for commands in (inventory, evaluate, results, report, selfcheck):
    commands.register(app)


def main() -> None:
    """Run the command line."""
    try:
        app()
    except LookbackError as error:
        print(f"lookback: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("lookback: stopped; finished work is kept, the same command goes on from there", file=sys.stderr)
        sys.exit(130)
