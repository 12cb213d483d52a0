"""A paper's table with our own rows beside the printed ones. Rows say who measured them, notes say what measured each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

import lookback
from lookback.clips import KEYS
from lookback.errors import UsageError, hint
from lookback.params import RunParams
from lookback.published.printed import Printed, printed_papers
from lookback.registry import BACKENDS, BENCHMARKS
from lookback.report.paper import PaperData
from lookback.report.published.build import paper_table
from lookback.report.table import PaperTable, mark_best

WHO, TYPE, MODEL = "measured by", "type", "model"
PAPER = "the paper"
STAND_IN = "‡"
STAND_IN_NOTE = f"{STAND_IN} made by an embedded stand-in, not by the paper's model: compare such numbers only with each other."


def printed_tables() -> dict[str, Printed]:
    """Every printed table by its name."""
    return {printed.id: printed for paper in printed_papers().values() for printed in paper.tables}


def own_tables(params: RunParams) -> dict[str, tuple[PaperTable, PaperData]]:
    """The paper tables that a run fills, by name, each with the scores behind it."""
    data = PaperData.of_run(params)
    found: dict[str, tuple[PaperTable, PaperData]] = {}
    for name in sorted(data.tables["clips"]["benchmark"].unique()):
        own = data.of(name)
        found |= {table.id: (table, own) for table in BENCHMARKS.get(name).paper_tables(own)}
    return found


def tables_named(name: str, runs: Sequence[RunParams], with_published: bool) -> list[PaperTable]:
    """The table of this name from the runs; with the printed rows in the same table, or below it if its rows are no models."""
    known = printed_tables()
    printed = known.get(name) or next((each for each in known.values() if each.own == name), None)
    id_here = (printed.own or printed.id) if printed else name
    unscored = [run.run for run in runs if not PaperData.has_scores(run)]
    if printed is None and unscored:
        raise UsageError(
            f"No paper has a table '{name}', and the run '{unscored[0]}' has no scores to make one of its own; {hint(name, known)}"
        )
    made = {run.run: own_tables(run) for run in runs}
    own = [(run, *tables[id_here]) for run, tables in made.items() if id_here in tables]
    if printed is None and not own:
        names = dict.fromkeys([*known, *(each for tables in made.values() for each in tables)])
        raise UsageError(f"There is no table '{name}'; {hint(name, list(names))}")
    if not own and not with_published:
        raise UsageError(
            f"The run has no clips for the table '{name}'; name another with --run, or print the paper's: --with-published"
        )
    if printed is None or not with_published:
        return [_credited(table, data, run) for run, table, data in own]
    if MODEL in printed.labels:
        return [beside(printed, own)]
    return [*(_credited(table, data, run) for run, table, data in own), paper_table(printed)]


def beside(printed: Printed, own: Sequence[tuple[str, PaperTable, PaperData]]) -> PaperTable:
    """Printed rows first, then those of each run. Best and second best are marked among the rows of one origin alone."""
    paper = paper_table(printed)
    names = {column: paper.headers.get(column, column) for column in paper.numbers}
    parts = [_rows(paper, PAPER, names)]
    notes = [f"Rows of {PAPER}: as printed ({printed.name}.csv).", *printed.notes]
    digits = {names[column]: value for column, value in paper.digits.items()}
    better = {names[column]: value for column, value in paper.better.items()}
    for run, table, data in own:
        headers = {column: _shown(column, printed, names) for column in table.numbers}
        credited = _credited(table, data, run)
        parts.append(_rows(credited, f"run {run}", headers))
        digits = {headers[column]: value for column, value in table.digits.items() if column in headers} | digits
        better = {headers[column]: value for column, value in table.better.items()} | better
        notes += credited.notes
    frames, missing, suffixes = (pd.concat([part[index] for part in parts], ignore_index=True) for index in range(3))
    labels = [WHO, *([TYPE] if TYPE in frames else []), MODEL]
    frame = frames[[*labels, *(column for column in frames if column not in labels)]]
    frame = frame.fillna({TYPE: ""}) if TYPE in frame else frame
    better = {column: more for column, more in better.items() if column in frame}
    marks = mark_best(frame, better, digits, frame[WHO] + frame[TYPE] if printed.group and TYPE in frame else frame[WHO])
    title = paper.title if not own else f"{paper.title}, with own rows"
    return PaperTable(
        printed.id, title, frame, labels, digits, marks, missing.fillna("not in this table"), suffixes.fillna(""), None,
        list(dict.fromkeys(notes)), better=better,
    )  # fmt: skip


def _shown(column: str, printed: Printed, names: dict[str, str]) -> str:
    """The printed header of an own column; its own where the paper has no such column."""
    there = {here: names[column] for column, here in printed.own_columns.items() if column in names}
    return there.get(column, column)


def _rows(table: PaperTable, who: str, headers: dict[str, str]) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The table's rows under the common headers, with who measured them: numbers, why cells are empty, what follows a number."""
    alone = {table.labels[0]: MODEL} if len(table.labels) == 1 else {}
    frame = table.frame.rename(columns={**headers, **alone})
    kinds = [label for label in table.labels if label != MODEL]
    kinds = [kind for kind in kinds if kind not in alone]
    frame = frame.drop(columns=kinds).assign(**{WHO: who}, **({TYPE: table.frame[kinds[0]]} if kinds else {}))
    blank = pd.DataFrame("", index=frame.index, columns=list(headers.values()))
    extras = [
        blank if part is None else blank.combine_first(part.rename(columns=headers)) for part in (table.missing, table.suffixes)
    ]
    for extra, part in zip(extras, (table.missing, table.suffixes), strict=True):
        if part is not None:
            extra.update(part.rename(columns=headers))
    return frame, extras[0], extras[1]


def _credited(table: PaperTable, data: PaperData, run: str) -> PaperTable:
    """The table of a run: every number of an embedded stand-in is marked, and a note says what measured each column."""
    suffixes = pd.DataFrame("", index=table.frame.index, columns=table.numbers)
    if table.suffixes is not None:
        suffixes.update(table.suffixes)
    told: dict[str, list[str]] = {}
    marked = False
    for column, metric in table.metrics.items():
        if column not in table.frame or (own := data.items[data.items["metric"] == metric]).empty:
            continue
        backends = sorted({part for text in own["backend"].unique() for part in text.split(",")} - {"", "none"})
        if any(_embedded(part) for part in backends):
            marked = True
            filled = table.frame[column].notna()
            suffixes.loc[filled, column] = STAND_IN + suffixes.loc[filled, column]
        how = ", ".join(backends) or "no model"
        clips = own.groupby(KEYS)["value"].count()
        scored = f"{int((clips > 0).sum())} of {len(clips)} clips scored"
        told.setdefault(f"variant {'/'.join(sorted(own['variant'].unique()))}, {how}, {scored}", []).append(column)
    notes = [f"run {run} (lookback {lookback.__version__}), {', '.join(columns)}: {how}." for how, columns in told.items()]
    return replace(table, suffixes=suffixes, notes=[*(notes or table.notes), *([STAND_IN_NOTE] if marked else [])], links=None)


def _embedded(part: str) -> bool:
    """Whether a backend, written role=name, is an embedded stand-in. Files made elsewhere and judges are none."""
    role, _, name = part.partition("=")
    return any(spec.role == role and spec.name == name and spec.embedded for spec in BACKENDS)
