"""`lookback report`, `compare`, `table` and `export`: run the stages, and use the results."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lookback.cli.evaluate import Set
from lookback.names import one_line
from lookback.paths import expanded, project_root, shown

Run = Annotated[str, typer.Option(help="Run name: params/NAME.yaml, or a path to a YAML file.")]


class Format(StrEnum):
    """The forms of a table."""

    text = "text"
    latex = "latex"
    csv = "csv"
    markdown = "markdown"
    html = "html"


def register(app: typer.Typer) -> None:
    for command in (report, compare, table, export):
        app.command()(command)


def report(
    run: Run = "demo",
    stage: Annotated[str, typer.Option(help="Only this stage and the stages that it needs.")] = "",
    profile: Annotated[
        str, typer.Option(help="Whose models measure: embedded, paper or auto; as the file says when left out.")
    ] = "",
    set_: Set = None,
) -> None:
    """Update the tables, figures and report of a run. Stages that are up to date are not run again."""
    from lookback.params import load_run
    from lookback.pipeline import Pipeline, stage_named

    overrides = [*([f"profile={profile}"] if profile else []), *(set_ or [])]
    params = load_run(run, overrides)
    target = stage_named(stage) if stage else None
    redone = Pipeline(params, run, overrides).run(target)
    goal = params.paths.tables if target is not None and target.name != "report" else params.paths.report
    state = f"redone: {', '.join(redone)}" if redone else "nothing to do, everything is up to date"
    print(f"{shown(goal)}: {state}")


def compare(
    runs: Annotated[list[str], typer.Argument(help="Two or more runs: names, YAML files, or folders of finished runs.")],
    output: Annotated[
        str, typer.Option(help="Folder for the tables and the page; outputs/compare-... of the project when left out.")
    ] = "",
) -> None:
    """Compare finished runs with paired tests. Differences, rank changes, and what changed; from three runs on also their curve."""
    from lookback.params import load_run
    from lookback.report.compare import compare_runs

    loaded = [load_run(name) for name in runs]
    parts = [each.run for each in loaded]
    name = "-".join(["compare", *(parts if len(parts) < 4 else [parts[0], "to", parts[-1]])])
    folder = expanded(output) if output else project_root() / "outputs" / name
    for table in compare_runs(*loaded, folder=folder):
        print(one_line(f"{table.title}: {len(table.frame)} rows. {table.conclusion}".strip()))
    print(f"written to {shown(folder / 'report.html')}")


def table(
    name: Annotated[str, typer.Argument(help="A table's name, e.g. memobench-2; without it, all names are listed.")] = "",
    run: Annotated[
        list[str] | None, typer.Option(help="Whose rows: a run's name, YAML file or folder. May be repeated; demo when left out.")
    ] = None,
    with_published: Annotated[
        bool, typer.Option("--with-published", help="Put the paper's printed rows into the same table.")
    ] = False,
    format: Annotated[Format, typer.Option(help="How to write it.")] = Format.text,
    output: Annotated[Path | None, typer.Option(help="Write to this file instead of the screen.")] = None,
) -> None:
    """Print a paper's table from your runs, beside the printed rows. Notes say who measured with what; CSV has no notes."""
    from lookback.files import write_text
    from lookback.params import load_run
    from lookback.report.beside import printed_tables, tables_named

    if not name:
        for printed in printed_tables().values():
            print(f"{printed.id:18} {printed.title}")
        return
    found = tables_named(name, [load_run(each) for each in run or ["demo"]], with_published)
    text = "\n".join(getattr(each, f"to_{format.value}")() for each in found).rstrip() + "\n"
    if output is None:
        print(text, end="")
    else:
        write_text(expanded(output), text)
        print(f"written to {output}")


def export(
    format: Annotated[str, typer.Argument(help="One of {formats}.")],
    run: Annotated[str, typer.Argument(help="The run's name, its YAML file, or its folder.")],
    output: Annotated[str, typer.Option(help="File or folder to write.")],
) -> None:
    """Write a finished run in a benchmark's own files, or as a zip for a leaderboard."""
    from lookback.exports import export as write
    from lookback.params import load_run

    print(write(format, load_run(run), expanded(output)))
