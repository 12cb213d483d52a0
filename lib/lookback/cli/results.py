"""`lookback agreement` and `lookback export`: from results to what one hands on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lookback.cli.choices import ChoosingCommand
from lookback.names import one_line


def register(app: typer.Typer) -> None:
    app.command()(agreement)
    app.command(cls=ChoosingCommand)(export)


def agreement(
    ratings: Annotated[str, typer.Argument(help="Votes: CSV, JSONL, Parquet or a Label Studio export.")],
    plan: Annotated[str, typer.Option(help="The declared plan (YAML).")],
    output: Annotated[str, typer.Option(help="Folder for the tables and figures.")],
    scores: Annotated[str, typer.Option(help="Items of a run (Parquet or CSV); without it only the people are compared.")] = "",
) -> None:
    """Analyse human votes, and how far scores agree with them, under a declared plan."""
    from lookback.agreement import analyse, load_plan, read_ratings, read_scores, save_tables
    from lookback.agreement.figures.draw import draw_figures

    declared = load_plan(Path(plan))
    votes = read_ratings(Path(ratings))
    tables = analyse(votes, read_scores(Path(scores)) if scores else None, declared)
    save_tables(tables, Path(output))
    draw_figures(tables, Path(output) / "figures")
    for name, table in tables.items():
        if name != "readings":
            print(one_line(f"{table.attrs['title']}: {table.attrs['reading']}"))
    print(f"written to {output}; plan {declared.hash[:12]}")


def export(
    format: Annotated[str, typer.Argument(help="One of {formats}.")],
    run: Annotated[str, typer.Argument(help="Run name: params/NAME.yaml, or a path to a YAML file.")],
    output: Annotated[str, typer.Option(help="File or folder to write.")],
) -> None:
    """Write a finished run in the form that a benchmark's own users read."""
    from lookback.exports import export as write
    from lookback.params import load_run

    print(write(format, load_run(run), Path(output)))
