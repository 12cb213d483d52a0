"""`lookback study` and `lookback agreement`: plan a study of human votes, and analyse its votes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

study = typer.Typer(
    help="Plan a study of human votes.", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
)


def register(app: typer.Typer) -> None:
    app.add_typer(study, name="study")


@study.command()
def freeze(
    plan: Annotated[str, typer.Argument(help="The plan of the analysis (YAML).")],
    because: Annotated[str, typer.Option(help="Why a frozen plan changed; recorded as an amendment.")] = "",
) -> None:
    """Write the plan with its hash, the time, and the hashes of the study's files that exist already.

    A later change needs a reason and is recorded as an amendment. Every table of an analysis prints the amendments.
    """
    from lookback.agreement.frozen import freeze as write

    print(write(Path(plan), because))
