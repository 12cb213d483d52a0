"""`lookback study` and `lookback agreement`: plan a study of human votes, and analyse its votes."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lookback.cli import power
from lookback.cli.choices import Commands, WholeHelpGroup
from lookback.errors import UsageError
from lookback.names import one_line
from lookback.paths import expanded

if TYPE_CHECKING:
    from lookback.agreement.analyse import Analysis
    from lookback.agreement.plan import Plan

study = Commands(
    help="Plan a study of human votes: freeze a plan, compute its power.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    cls=WholeHelpGroup,
)
Template = Literal["pairwise", "trigger", "rating"]
Part = Literal["votes", "plan", "scores"]


def register(app: typer.Typer) -> None:
    power.register(study)
    app.command()(agreement)
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

    print(write(expanded(plan), because))


def agreement(
    ratings: Annotated[
        list[str] | None, typer.Argument(help="Votes: CSV, JSONL, Parquet or a Label Studio export; default: the plan's files.")
    ] = None,
    plan: Annotated[str, typer.Option(help="The plan of the analysis (YAML).")] = "",
    output: Annotated[str, typer.Option(help="Folder for the tables and figures.")] = "",
    scores: Annotated[
        str, typer.Option(help="Scores (Parquet, CSV, JSONL); default: the plan's file. Without any only the people are compared.")
    ] = "",
    template: Annotated[Template | None, typer.Option(help="Print an example file instead, to fill in or to try out.")] = None,
    part: Annotated[Part, typer.Option(help="Which file of the example.")] = "votes",
) -> None:
    """Analyse human votes, and how well scores agree with them, according to a plan.

    A file of votes has one row per vote, with the columns task, benchmark, dimension, clip_a, model_a, annotator and label.
    Optional: setting, clip_b and model_b (of a pair), scene, time (seconds since 1970), simulated. A pair's label is about A: 1 if
    A is better, 0 for a tie, -1 if B is better; other spellings are declared in the plan.

    A file of scores has the columns benchmark, setting, model_id, clip_id, metric, value, reason: a value, or the reason why there
    is none. It joins the votes by benchmark, setting, model and clip; names must be equal.

    \b
    Try it out:
      lookback agreement --template rating > votes.csv
      lookback agreement --template rating --part scores > scores.csv
      lookback agreement --template rating --part plan > plan.yaml
      lookback study freeze plan.yaml
      lookback agreement --plan plan.yaml --output results

    docs/studies.md explains every kind of vote and every key of the plan.
    """
    if template:
        sys.stdout.write(example(template, part))
        return
    if not plan or not output:
        raise UsageError("lookback agreement needs --plan FILE and --output FOLDER (or --template KIND for an example)")
    _analyse(expanded(plan), [expanded(path) for path in ratings or []], expanded(scores) if scores else None, expanded(output))


def example(kind: Template, part: Part) -> str:
    """The text of a file of an example study. The folder is read without its package, which takes long to import."""
    suffix = "yaml" if part == "plan" else "csv"
    return (files("lookback") / "agreement" / "templates" / kind / f"{part}.{suffix}").read_text(encoding="utf-8")


def _analyse(source: Path, named_votes: list[Path], named_scores: Path | None, folder: Path) -> None:
    import pandas as pd

    from lookback.agreement import load_plan, read_ratings, read_scores
    from lookback.agreement.analyse import analysed
    from lookback.agreement.figures.draw import draw_figures
    from lookback.agreement.frozen import standing
    from lookback.agreement.importers import read_gold
    from lookback.agreement.looks import look_at
    from lookback.agreement.save import clear_earlier, save_study, write_manifest

    plan = load_plan(source)
    votes, scores = _inputs(plan, source.parent, named_votes, named_scores)
    rows = pd.concat([read_ratings(path) for path in votes], ignore_index=True)
    found = pd.concat([read_scores(path) for path in scores], ignore_index=True) if scores else None
    gold = _gold(plan, source.parent)
    known = pd.concat([read_gold(path) for path in gold], ignore_index=True) if gold else None
    look = look_at(source, plan, [*votes, *scores, *gold], len(rows))
    result = analysed(rows, found, plan, standing=standing(source, votes, look), gold=known)
    uncounted = look.record()
    kept = clear_earlier(folder)
    written = save_study(result, folder, source)
    written.append(_write_latex(result, folder))
    before = set((folder / "figures").glob("*"))
    try:
        for figure in draw_figures(result.tables, folder / "figures"):
            written += sorted(figure.png.parent.glob(f"{figure.png.stem}.*"))
    finally:  # should a figure fail, the next analysis still knows what to remove
        written += set((folder / "figures").glob("*")) - before
        write_manifest(folder, written, result, {"plan": [source], "votes": votes, "scores": scores, "gold": gold})
    for name, table in result.tables.items():
        if name != "readings":
            print(one_line(f"{table.attrs['title']}: {table.attrs['reading']}"))
    if result.standing:
        print(one_line(result.standing.words))
    if uncounted:
        print(uncounted)
    if kept:
        print(f"kept, because they were changed since an earlier analysis wrote them: {', '.join(kept)}")
    print(f"written to {folder}; plan {plan.hash[:12]}")


def _inputs(plan: Plan, folder: Path, votes: list[Path], scores: Path | None) -> tuple[list[Path], list[Path]]:
    """The files of votes and scores: those named in the call, else those of the plan."""
    found = votes or [folder / name for name in plan.files.votes]
    if not found:
        raise UsageError("Name a file of votes in the call, or in the plan under files: votes")
    return found, [scores] if scores else [folder / name for name in plan.files.scores]


def _gold(plan: Plan, folder: Path) -> list[Path]:
    """The files of gold answers: those of the plan, else gold.csv beside it, as the annotation desk names it."""
    beside = folder / "gold.csv"
    return [folder / name for name in plan.files.gold] or ([beside] if beside.is_file() else [])


def _write_latex(result: Analysis, folder: Path) -> Path:
    """`tables.tex`: the printed tables, for \\input in a paper (needs booktabs and graphicx)."""
    from lookback.agreement.printed import printed
    from lookback.agreement.save import ROWS_SHOWN
    from lookback.files import write_text
    from lookback.report.table import PaperTable

    parts = []
    for name, table in result.tables.items():
        if name == "readings":
            continue
        shown = printed(name, table.head(ROWS_SHOWN))
        more = [f"{len(table) - ROWS_SHOWN} more rows in {name}.csv"] if len(table) > ROWS_SHOWN else []
        notes = [*more, table.attrs["footnote"]]
        parts.append(PaperTable(name, table.attrs["title"], shown, list(shown.columns), notes=notes).to_latex())
    write_text(folder / "tables.tex", "\n".join(parts))
    return folder / "tables.tex"
