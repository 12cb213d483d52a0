"""`lookback validity`: verdicts against labels, on labelled real clips and on the demo."""

from __future__ import annotations

from typing import Annotated

import typer

from lookback.errors import UsageError
from lookback.paths import expanded


def register(app: typer.Typer) -> None:
    app.command()(validity)


def validity(
    clips: Annotated[str, typer.Option(help="The folder of the labelled clips; ../shared/clips when left out.")] = "",
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0: one per core, or two per GPU.")] = 0,
) -> None:
    """Compare the verdicts and the geometric judge with labelled real clips (cross-validated by scene) and with the demo."""
    from lookback.validity.dataset import clips_folder
    from lookback.validity.report import as_text
    from lookback.validity.report import validity as compared

    folder = expanded(clips).absolute() if clips else clips_folder()
    if clips and not folder.is_dir():
        raise UsageError(f"--clips {clips} is not a folder; give the folder that holds labels.csv")
    print(as_text(*compared(folder, workers)))
