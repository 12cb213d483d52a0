"""`lookback estimate`: what a run will cost on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lookback.cli.evaluate import Set, run_params
from lookback.errors import UsageError
from lookback.params import RunParams, load_run
from lookback.paths import expanded


def register(app: typer.Typer) -> None:
    app.command()(estimate)


def estimate(
    run: Annotated[str, typer.Argument(help="A run's name, its YAML file, or the folder of a dataset.")] = "",
    profile: Annotated[
        str, typer.Option(help="Whose models measure: embedded, paper or auto; as the file says when left out.")
    ] = "",
    set_: Set = None,
    save: Annotated[Path | None, typer.Option(help="Write the measured seconds per clip to this CSV file.")] = None,
    table: Annotated[Path | None, typer.Option(help="Run nothing: print hours per 100 clips from such a file.")] = None,
) -> None:
    """Say what a run will cost before it starts: clips, models, downloads, GPU memory, and hours from a trial of a few clips."""
    from lookback.estimate import hours_table, listed, models_table, read_measured, trial
    from lookback.extraction.needs import as_text, check_models, needs
    from lookback.files import write_text
    from lookback.machine import one_line
    from lookback.tables import csv_text

    if table is not None:
        print(as_text(hours_table(read_measured(expanded(table))).round(3)), end="")
        return
    if not run:
        raise UsageError("Name a run, its YAML file, or the folder of a dataset")
    params = _params(run, [*([f"profile={profile}"] if profile else []), *(set_ or [])])
    clips = listed(params)
    print(f"{len(clips)} clips; profile {params.profile}; {one_line()}")
    print(as_text(models_table(needs(params, clips))), end="", flush=True)
    check_models(params, clips)
    found = trial(params, clips)
    hours = (found.parts["seconds_per_clip"] * found.parts["clips"] / 3600).round(3)
    print(as_text(found.parts.round({"seconds_per_clip": 3, "loading": 1}).assign(hours=hours)), end="")
    memory = f"{found.device_memory_gb:.1f} GB of GPU memory" if found.device_memory_gb else "no GPU"
    print(f"about {found.hours:.2f} hours with {found.workers} worker(s), {memory} per worker; judges and people not counted")
    if save is not None:
        write_text(expanded(save), csv_text(found.measured()))
        print(f"measured seconds per clip: {save}")


def _params(run: str, overrides: list[str]) -> RunParams:
    if expanded(run).is_dir() and not (expanded(run) / "results.json").is_file():
        params = run_params("estimate", 2, run, "auto", "", "", "", None, None, overrides)
        only_metrics = params.scoring.metrics and params.judging.judge == "none"  # as `lookback eval --metrics` runs them
        return params.changed(extraction={"always": []}) if only_metrics else params
    return load_run(run, overrides)
