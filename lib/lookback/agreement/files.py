"""Read CSV, JSON lines and Parquet files. An unreadable file gives an error that names the file and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lookback import json_text
from lookback.errors import ContractError
from lookback.tables import read_csv


def read_csv_texts(source: Path) -> pd.DataFrame:
    """A CSV file with every cell as the text it holds."""
    frame = read_csv(source, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    if frame.columns.empty:
        raise ContractError(f"{source.name} is not a readable CSV file: it is empty; write a header and its rows")
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(frame.columns) == 1 and mark in str(frame.columns[0]):
            raise ContractError(f"{source.name}: its columns are separated by {name}; save it with commas between them")
    return frame


def read_parquet_file(source: Path) -> pd.DataFrame:
    """A Parquet file."""
    try:
        return pd.read_parquet(source)
    except (OSError, ValueError, ArithmeticError, NotImplementedError, LookupError, TypeError) as error:  # also broken metadata
        problem = " ".join(str(error).split())[:200]
        raise ContractError(f"{source.name} is not a readable Parquet file: {problem}; write it again") from None


def read_text(source: Path) -> str:
    """A file's text, which must be UTF-8."""
    try:
        return source.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ContractError(f"{source.name} is not UTF-8 (byte {error.start}); save it as UTF-8") from None


def read_json_lines(source: Path, what: str) -> list[dict[str, Any]]:
    """One JSON object per line; empty lines are skipped. `what` is the word for one object in error messages."""
    records = []
    for number, line in enumerate(read_text(source).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json_text.loads(line)
        except ValueError as error:
            raise ContractError(f"{source.name}, line {number}: not JSON ({str(error)[:100]})") from None
        if not isinstance(record, dict):
            raise ContractError(f"{source.name}, line {number}: expected one {what} as a JSON object")
        records.append(record)
    return records
