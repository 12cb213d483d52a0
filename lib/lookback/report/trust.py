"""Can the metrics be trusted? What the audit says, with what rests on a simulated judge marked and not counted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pandas as pd

from lookback.report.table import PaperTable
from lookback.scoring.aggregate import TRIGGER_DETAIL
from lookback.tables import read_csv

NO_VERDICT = "no verdict (simulated judge)"
CAUGHT = ("caught", "seen")


def judged_by(items: pd.DataFrame, judges: Collection[str]) -> set[str]:
    """The metrics whose scores a simulated judge made."""
    judged = items["backend"].map(lambda backend: bool(set(backend.split(",")) & set(judges)))
    return set(items.loc[judged, "metric"])


def without_judged_marks(table: PaperTable, items: pd.DataFrame, judges: Collection[str]) -> PaperTable:
    """The table without "best" in columns that rest on a simulated judge: its answers, or its word that clips do not count."""
    closed = items["detail"].map(lambda detail: any(detail.startswith(f"{TRIGGER_DETAIL}{judge}:") for judge in judges))
    rests = judged_by(items, judges) | set(items.loc[closed, "metric"])
    columns = [name for name, metric in table.metrics.items() if metric in rests]
    if not columns or table.marks is None:
        return table
    derived = [name for name in table.marks if name not in table.metrics]  # an average over such columns
    marks = table.marks.copy()
    marks[[name for name in (*columns, *derived) if name in marks]] = ""
    note = f"Nothing is marked in {', '.join(columns)}: a simulated judge answered, or decided which clips count."
    return replace(table, marks=marks, notes=[*table.notes, note])


def audited_failures(folder: Path, simulated: Collection[str]) -> pd.DataFrame:
    """The audit's verdict on each failure. Where the metric behind it was answered by a simulated judge there is no verdict."""
    path = folder / "failures.csv"
    if not path.is_file():
        return pd.DataFrame()
    frame = read_csv(path)
    rests = frame["meant_and_best"].map(lambda measure: isinstance(measure, str) and measure.split(" ")[0] in set(simulated))
    frame.loc[rests, "verdict"] = NO_VERDICT
    return frame


def audited_metrics(folder: Path, simulated: Collection[str]) -> pd.DataFrame:
    """What to trust each metric for; those that a simulated judge answered are left out."""
    path = folder / "metrics.csv"
    if not path.is_file():
        return pd.DataFrame()
    frame = read_csv(path)
    return frame[~frame["measure"].map(lambda measure: str(measure).split(" ")[0] in set(simulated))]


def audit_sentence(failures: pd.DataFrame) -> str:
    """How many injected failures are caught, without those on which only a simulated judge has a word."""
    if failures.empty:
        return ""
    verdicts = failures["verdict"].astype(str)
    judged, open_ = verdicts == NO_VERDICT, verdicts.str.startswith("not measured")
    told = failures[~judged & ~open_]
    caught = told["verdict"].str.startswith(CAUGHT)
    words = [f"{int(caught.sum())} of {len(told)} injected failures that a metric without a judge measures make it fall."]
    parts = (("Missed", ~caught), ("Not measured", open_), ("No verdict, because only a simulated judge saw them", judged))
    for name, chosen in parts:
        rows = told[chosen] if name == "Missed" else failures[chosen]
        if len(rows):
            words.append(f"{name}: {', '.join(rows['failure'].str.replace('_', ' '))}.")
    return " ".join(words)
