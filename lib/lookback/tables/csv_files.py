"""CSV files that people open in spreadsheets, and that this project can read back unchanged.

A spreadsheet runs a cell that begins with =, +, -, @ or a tab as a formula. Such text (but not numbers) gets an apostrophe
before it. `read_csv` removes it again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from lookback.errors import ContractError

FORMULA = re.compile(r"'*[=+\-@\t\r].", re.DOTALL)
GUARDED = re.compile(r"'+[=+\-@\t\r].", re.DOTALL)


def guarded(value: object) -> object:
    """Put an apostrophe before text that a spreadsheet would run."""
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) and not _is_number(value) else value


def unguarded(value: object) -> object:
    """Undo `guarded`."""
    return value[1:] if isinstance(value, str) and GUARDED.match(value) else value


def csv_text(frame: pd.DataFrame) -> str:
    """A table as CSV text, with one header line. Missing cells are empty."""
    return _changed(frame, guarded).to_csv(index=False, lineterminator="\n")


def read_csv(path: Path, **options: Any) -> pd.DataFrame:
    """A table that `csv_text` wrote; `options` are those of pandas. A ContractError says why a file is no CSV file."""
    if path.read_bytes() == b"\n":  # a table without columns, which pandas refuses to read
        return pd.DataFrame()
    try:
        return _changed(pd.read_csv(path, **options), unguarded)
    except pd.errors.EmptyDataError:
        problem = "it is empty; write a header and its rows"
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} is not UTF-8; save it as UTF-8"
    except pd.errors.ParserError as error:
        problem = " ".join(str(error).split())
    raise ContractError(f"{path.name} is not a readable CSV file: {problem}")


def _changed(frame: pd.DataFrame, change: Callable[[object], object]) -> pd.DataFrame:
    """The table with `change` applied to its header and to every text cell."""
    frame = frame.copy(deep=False)
    frame.attrs = {}  # pandas copies them with every column that is taken
    changed = frame.copy(deep=False)
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if not pd.api.types.is_numeric_dtype(column.dtype):
            given = column.tolist()  # far faster than to go through the column
            cells = [change(value) for value in given]
            if any(new is not old for new, old in zip(cells, given, strict=True)):
                changed.isetitem(place, pd.Series(cells, index=frame.index, dtype=column.dtype))
    return changed.set_axis([change(name) for name in frame.columns], axis=1)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
