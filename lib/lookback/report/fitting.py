"""Tables that are wider than the page: fewer columns on the page, everything in the files beside it."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd

from lookback.report.table import PaperTable, bounds_text

MOST_COLUMNS = 8
LONG = 36  # text that is longer stands in the notes
TEXT_ROWS = 30  # a table of mere text with no more rows keeps its texts: without them nobody knows which row says what
TOLD = 3  # different texts of a column that the notes name
BOUNDS = re.compile(r"(?:(.+)_)?(low|high)(?:_(.+))?")
VALUES = ("value", "difference", "estimate", "win_ratio", "r", "agreement", "shift", "log_strength", "mean")


def fitted(table: PaperTable, most: int = MOST_COLUMNS) -> PaperTable:
    """The table with intervals behind their numbers, and what is equal, long or left over in the notes."""
    notes: list[str] = []
    frame, suffixes = _joined_intervals(table)
    empty = [name for name in frame if frame[name].isna().all() or (frame[name].astype(str) == "").all()]
    frame = frame.drop(columns=empty)
    frame = _without_equal(frame, notes)
    if not (set(frame) <= set(table.labels) and len(frame) <= TEXT_ROWS):
        frame = _without_long(frame, notes)
    if len(frame.columns) > most:
        left = list(frame.columns[most:])
        notes.append(f"Also in the files: {', '.join(map(str, left))}.")
        frame = frame[list(frame.columns[:most])]
    labels = [name for name in table.labels if name in frame]
    headers = {name: str(name).replace("_", " ") for name in frame} | table.headers
    return replace(table, frame=frame, labels=labels, suffixes=suffixes, notes=[*table.notes, *notes], headers=headers)


def _joined_intervals(table: PaperTable) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every number with its bounds behind it, instead of two more columns."""
    frame = table.frame.copy()
    suffixes = pd.DataFrame("", index=frame.index, columns=list(frame.columns))
    if table.suffixes is not None:
        suffixes.update(table.suffixes)
    for low in [name for name in frame if (found := BOUNDS.fullmatch(str(name))) and found[2] == "low"]:
        high = low.replace("low", "high")
        base = _number_of(str(low), [str(name) for name in frame])
        if high not in frame or not all(pd.api.types.is_numeric_dtype(frame[name]) for name in (low, high)):
            continue
        if base:
            digits = table.digits.get(base, 2)
            suffixes[base] = [bounds_text(*ends, digits) for ends in zip(frame[low], frame[high], strict=True)]
            frame = frame.drop(columns=[low, high])
    return frame, suffixes


def _number_of(low: str, names: list[str]) -> str:
    """The column whose lower bound this is; empty where none is."""
    found = BOUNDS.fullmatch(low)
    assert found is not None
    if found[1] or found[3]:
        stem = "_".join(filter(None, (found[1], found[3])))
        tried = [stem, f"{stem}_rho", f"rho_{stem}", f"win_ratio_{found[3]}" if found[3] else stem]
        return next((name for name in tried if name in names), "")
    return next((name for name in VALUES if name in names), "")


def _without_equal(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    if len(frame) < 2:
        return frame
    equal = [name for name in frame.columns[1:] if frame[name].nunique(dropna=False) == 1]
    if equal:
        notes.append("In every row: " + "; ".join(f"{name} {frame[name].iloc[0]}" for name in equal) + ".")
    return frame.drop(columns=equal)


def _without_long(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    texts = [name for name in frame.columns[1:] if frame[name].map(lambda cell: isinstance(cell, str) and len(cell) > LONG).any()]
    for name in texts:
        counts = frame.loc[frame[name].notna() & (frame[name] != ""), name].value_counts()
        told = "; ".join(f"{text} ({count} {'row' if count == 1 else 'rows'})" for text, count in counts.head(TOLD).items())
        more = f"; {len(counts) - TOLD} more in the files" if len(counts) > TOLD else ""
        notes.append(f"{str(name).replace('_', ' ')}: {told}{more}.")
    return frame.drop(columns=texts)
