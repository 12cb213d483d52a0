"""The `lookback` command and its subcommands."""

from __future__ import annotations

from typing import Annotated

import typer

from lookback import __version__
from lookback.cli import (
    conditions,
    construct,
    estimate,
    evaluate,
    init,
    inventory,
    models,
    pages,
    parity,
    report,
    selfcheck,
    study,
    validity,
    watch,
)
from lookback.cli.choices import Commands, GroupedHelp

app = Commands(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    cls=GroupedHelp,
)
for commands in (
    init,
    inventory,
    evaluate,
    estimate,
    watch,
    conditions,
    construct,
    report,
    study,
    pages,
    models,
    selfcheck,
    parity,
    validity,
):
    commands.register(app)


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"lookback {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Measure the memory of video world models."""
