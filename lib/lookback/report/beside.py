"""A paper's table with our own rows beside the printed ones. Rows say who measured them, notes say what measured each column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

import lookback
from lookback.errors import UsageError, hint
from lookback.params import RunParams
from lookback.published.printed import Printed, printed_papers
from lookback.registry import BENCHMARKS, stand_ins
from lookback.report.compare import told_apart
from lookback.report.paper import PaperData
from lookback.report.published.build import paper_table
from lookback.report.table import PaperTable, mark_best
from lookback.report.trust import without_judged_marks

WHO, TYPE, MODEL = "measured by", "type", "model"
PAPER = "the paper"
STAND_IN = "‡"
STAND_IN_NOTE = f"{STAND_IN} made by an embedded stand-in, not by the paper's model: compare such numbers only with each other."


def printed_tables() -> dict[str, Printed]:
    """Every printed table by its name."""
    return {printed.id: printed for paper in printed_papers().values() for printed in paper.tables}


def own_tables(params: RunParams) -> dict[str, tuple[PaperTable, PaperData]]:
    """The paper tables that a run fills, by name, each with the scores behind it. What a simulated judge answered is not marked."""
    data = PaperData.of_run(params)
    answers = data.tables["judgements"]
    simulated = set(answers.loc[answers["simulated"].astype(bool), "judge"])
    found: dict[str, tuple[PaperTable, PaperData]] = {}
    for name in sorted(data.tables["clips"]["benchmark"].unique()):
        own = data.of(name)
        tables = BENCHMARKS.get(name).paper_tables(own)
        found |= {table.id: (without_judged_marks(table, own.items, simulated), own) for table in tables}
    return found


def tables_named(name: str, runs: Sequence[RunParams], with_published: bool) -> list[PaperTable]:
    """The table of this name from the runs; with the printed rows in the same table, or below it if its rows are no models."""
    known = printed_tables()
    printed = known.get(name) or next((each for each in known.values() if each.own == name), None)
    id_here = (printed.own or printed.id) if printed else name
    named = _named(runs)
    unscored = [label for label, run in named.items() if not PaperData.has_scores(run)]
    if printed is None and unscored:
        raise UsageError(
            f"No paper has a table '{name}', and the run '{unscored[0]}' has no scores to make one of its own; {hint(name, known)}"
        )
    made = {label: own_tables(run) for label, run in named.items()}
    own = [(label, *tables[id_here]) for label, tables in made.items() if id_here in tables]
    if printed is None and not own:
        names = dict.fromkeys([*known, *(each for tables in made.values() for each in tables)])
        raise UsageError(f"There is no table '{name}'; {hint(name, list(names))}")
    if not own and not with_published:
        raise UsageError(
            f"The run has no clips for the table '{name}'; name another with --run, or print the paper's: --with-published"
        )
    if printed is None or not with_published:
        return _of_each(own)
    if MODEL in printed.labels:
        return [beside(printed, own)]
    return [*_of_each(own), paper_table(printed)]


def _of_each(own: Sequence[tuple[str, PaperTable, PaperData]]) -> list[PaperTable]:
    """The table of each run; where there are several, their rows say whose they are, and their labels differ."""
    tables = [_credited(table, data, run) for run, table, data in own]
    if len(tables) == 1:
        return tables
    for number, ((run, _, _), table) in enumerate(zip(own, tables, strict=True), start=1):
        table.id, table.labels = f"{table.id}-{number}", [WHO, *table.labels]
        table.frame = pd.concat([pd.Series(f"run {run}", table.frame.index, name=WHO), table.frame], axis=1)
    return tables


def _named(runs: Sequence[RunParams]) -> dict[str, RunParams]:
    """The runs by name, those of one name told apart. A folder given twice is one run."""
    folders = {run.paths.root.resolve(): run for run in runs}
    return {run.run: run for run in told_apart([*folders.values()])}


def beside(printed: Printed, own: Sequence[tuple[str, PaperTable, PaperData]]) -> PaperTable:
    """Printed rows first, then those of each run with the marks and digits of their own table."""
    source = paper_table(printed)
    names = {column: source.headers.get(column, column) for column in source.numbers}
    paper = _renamed(source, names)
    notes, told = [f"Rows of {PAPER}: as printed ({printed.name}.csv).", *printed.notes], dict[str, list[str]]()
    digits, better, tables = paper.digits, paper.better, []
    for run, table, data in own:
        renamed = _renamed(table, {here: names[column] for column, here in printed.own_columns.items() if column in names})
        credited = _credited(replace(renamed, notes=[]), data, run)
        tables.append((credited, f"run {run}"))
        digits, better = credited.digits | digits, credited.better | better
        notes += credited.notes
        for note in renamed.notes:
            told.setdefault(note, []).append(f"run {run}")
    ranked = {column: more for column, more in better.items() if column in paper.frame}
    paper.marks = mark_best(paper.frame, ranked, digits, paper.frame[printed.group] if printed.group else None)
    parts = [_rows(table, who) for table, who in [(paper, PAPER), *tables]]
    frames, marks, missing, suffixes, places = (pd.concat(kind, ignore_index=True) for kind in zip(*parts, strict=True))
    labels = [WHO, *([TYPE] if TYPE in frames else []), MODEL]
    frame = frames[[*labels, *(column for column in frames if column not in labels)]]
    frame = frame.fillna({TYPE: ""}) if TYPE in frame else frame
    notes += [f"{', '.join(runs)}: {note}" for note, runs in told.items()]
    return PaperTable(
        printed.id, paper.title if not own else f"{paper.title}, with own rows", frame, labels, digits, marks.fillna(""),
        missing.fillna("not in this table"), suffixes.fillna(""), None, list(dict.fromkeys(notes)),
        better={column: more for column, more in better.items() if column in frame}, cell_digits=places.fillna(0).astype(int),
    )  # fmt: skip


def _renamed(table: PaperTable, headers: Mapping[str, str]) -> PaperTable:
    """The table with other names of number columns, also in its notes."""
    every = {column: headers.get(column, column) for column in table.numbers}
    columns = "|".join(re.escape(column) for column in sorted(every, key=len, reverse=True))
    # notes list columns so: "Nothing is marked in A, B: ...", "Scored clips: A n 3 of 5; B n 0."
    listed = re.compile(rf"(?<=[:;,n] )({columns})(?= n |[,.:;])")
    marks, missing, suffixes = (
        None if part is None else part.rename(columns=every) for part in (table.marks, table.missing, table.suffixes)
    )
    return replace(
        table, frame=table.frame.rename(columns=every), marks=marks, missing=missing, suffixes=suffixes,
        digits={every[column]: digits for column, digits in table.digits.items() if column in every},
        better={every[column]: more for column, more in table.better.items() if column in every},
        metrics={every[column]: metric for column, metric in table.metrics.items() if column in every},
        notes=[listed.sub(lambda found: every.get(found[0], found[0]), note) for note in table.notes],
    )  # fmt: skip


def _rows(table: PaperTable, who: str) -> tuple[pd.DataFrame, ...]:
    """The table's rows with who measured them, and for each number its mark, why it is empty, what follows it, its digits."""
    alone = {table.labels[0]: MODEL} if len(table.labels) == 1 else {}
    frame = table.frame.rename(columns=alone)
    kinds = [label for label in table.labels if label != MODEL]
    kinds = [kind for kind in kinds if kind not in alone]
    frame = frame.drop(columns=kinds).assign(**{WHO: who}, **({TYPE: table.frame[kinds[0]]} if kinds else {}))
    details = []
    for part in (table.marks, table.missing, table.suffixes):
        details.append(pd.DataFrame("", index=frame.index, columns=table.numbers))
        if part is not None:
            details[-1].update(part)
    whole = {column: pd.api.types.is_integer_dtype(table.frame[column]) for column in table.numbers}
    digits = {column: 0 if whole[column] else table.digits.get(column, 2) for column in table.numbers}
    return frame, *details, pd.DataFrame(digits, index=frame.index)


def _credited(table: PaperTable, data: PaperData, run: str) -> PaperTable:
    """The table of a run: every number of an embedded stand-in is marked, and a note says what measured each column."""
    suffixes = pd.DataFrame("", index=table.frame.index, columns=table.numbers)
    if table.suffixes is not None:
        suffixes.update(table.suffixes)
    told: dict[str, list[str]] = {}
    marked: list[str] = []
    for column, metric in table.metrics.items():
        if column not in table.frame or (own := data.items[data.items["metric"] == metric]).empty:
            continue
        backends = sorted({part for text in own["backend"].unique() for part in text.split(",")} - {"", "none"})
        if stand_ins(backends):
            marked.append(column)
        how = ", ".join(backends) or "no model"
        told.setdefault(f"variant {'/'.join(sorted(own['variant'].unique()))}, {how}", []).append(column)
    if marked:
        marked += [name for name in table.better if name not in table.metrics]  # an average over such columns
    for column in marked:
        filled = table.frame[column].notna()
        suffixes.loc[filled, column] = STAND_IN + suffixes.loc[filled, column]
    notes = [f"run {run} (lookback {lookback.__version__}), {', '.join(columns)}: {how}." for how, columns in told.items()]
    notes += [STAND_IN_NOTE] if marked else []
    return replace(table, suffixes=suffixes, notes=list(dict.fromkeys([*notes, *table.notes])), links=None)
