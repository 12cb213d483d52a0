"""`lookback parity`: the released program of a benchmark and ours on the same clips, number beside number."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookback.cli.choices import compared
from lookback.cli.inventory import Json
from lookback.errors import UsageError
from lookback.names import one_line
from lookback.paths import expanded

if TYPE_CHECKING:
    from lookback.parity import ParityRow

HEADINGS = ("metric", "case", "ours", "theirs", "difference", "tolerance", "verdict")


def register(app: typer.Typer) -> None:
    app.command()(parity)


def parity(
    name: Annotated[str, typer.Argument(help="The benchmark: one of {compared}.")],
    peer: Annotated[str, typer.Option(help="The folder of the released program (its checkout).")],
    clips: Annotated[
        str,
        typer.Option(help="A folder of clips to compare on, too (a few are used); made-up clips alone when left out."),
    ] = "",
    json_: Json = False,
) -> None:
    """Run a released program and ours on the same clips. Exit 1 if a number differs. What cannot run is stated."""
    from lookback.parity import DIFFERS
    from lookback.registry import BENCHMARKS

    benchmark = BENCHMARKS.get(name)
    if name not in compared():
        raise UsageError(f"There is no released program to compare {name} with; known: {', '.join(compared())}")
    rows = list(benchmark.parity(_folder(peer, "--peer"), _folder(clips, "--clips") if clips else None))
    print(_as_json(rows) if json_ else _as_text(rows))
    if any(row.verdict == DIFFERS for row in rows):
        raise typer.Exit(1)


def _folder(path: str, option: str) -> Path:
    folder = expanded(path)
    if not folder.is_dir():
        raise UsageError(f"{option} {path} is not a folder; give the folder that holds the files")
    return folder.absolute()


def _as_json(rows: list[ParityRow]) -> str:
    fields = ("metric", "case", "ours", "theirs", "difference", "tolerance", "verdict", "note")
    records = [{name: _plain(getattr(row, name)) for name in fields} for row in rows]
    return json.dumps({"counts": Counter(row.verdict for row in rows), "rows": records}, indent=2, ensure_ascii=False)


def _plain(value: str | float | None) -> str | float | None:
    """JSON has no NaN and no infinity: they are written as words."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _as_text(rows: list[ParityRow]) -> str:
    cells = [HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADINGS))]
    lines = ["  ".join(f"{text:{width}}" for text, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    for number, row in enumerate(rows, start=1):
        lines[number] += f": {one_line(row.note)}" if row.note else ""
    counts = Counter(row.verdict for row in rows)
    return "\n".join([*lines, "", ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "nothing was compared"])


def _cells(row: ParityRow) -> tuple[str, ...]:
    numbers = (_number(row.ours), _number(row.theirs), _number(row.difference, ".1e"), _number(row.tolerance, "g"))
    return (one_line(row.metric), one_line(row.case), *numbers, row.verdict)


def _number(value: float | None, form: str = ".6g") -> str:
    if value is None:
        return "-"
    return "none" if math.isnan(value) else format(value, form)
