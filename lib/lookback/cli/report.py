"""`lookback report`: run the DAG, or one stage of it with what it needs."""

from __future__ import annotations

from typing import Annotated

import typer

from lookback.names import one_line
from lookback.params import load_run
from lookback.paths import portable


def register(app: typer.Typer) -> None:
    app.command()(report)
    app.command()(compare)


def report(
    run: Annotated[str, typer.Option(help="Run name: params/NAME.yaml, or a path to a YAML file.")] = "demo",
    stage: Annotated[str, typer.Option(help="Only this stage and what it needs.")] = "",
    set_: Annotated[list[str] | None, typer.Option("--set", help="Override one parameter: key=value. May be repeated.")] = None,
) -> None:
    """Bring a run's tables, figures and report up to date; what is up to date is left alone."""
    from lookback.pipeline import Pipeline, stage_named

    overrides = list(set_ or [])
    params = load_run(run, overrides)
    target = stage_named(stage) if stage else None
    redone = Pipeline(params, run, overrides).run(target)
    goal = params.paths.tables if target is not None and target.name != "report" else params.paths.report
    state = f"redone: {', '.join(redone)}" if redone else "nothing to do, everything is up to date"
    print(f"{portable(goal)}: {state}")


def compare(
    first: Annotated[str, typer.Argument(help="Run name or YAML file: what to compare with.")],
    second: Annotated[str, typer.Argument(help="Run name or YAML file.")],
    output: Annotated[str, typer.Option(help="Folder for the tables and the page.")] = "",
) -> None:
    """Compare two finished runs: paired differences, rank changes, and what changed in parameters, backends and code."""
    from pathlib import Path

    from lookback.paths import project_root
    from lookback.report.compare import compare_runs

    before, after = load_run(first), load_run(second)
    folder = Path(output) if output else project_root() / "outputs" / f"compare-{before.run}-{after.run}"
    for table in compare_runs(before, after, folder):
        print(one_line(f"{table.title}: {len(table.frame)} rows. {table.conclusion}".strip()))
    print(f"written to {folder / 'report.html'}")
