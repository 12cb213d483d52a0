"""The `lookback` command and its subcommands."""

from __future__ import annotations

import typer

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
from lookback.cli.choices import GroupedHelp

app = typer.Typer(
    help="Measure the memory of video world models.",
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
