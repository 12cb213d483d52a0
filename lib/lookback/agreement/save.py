"""Agreement tables on disk: a CSV each, and one Markdown page with every table's reading and the plan's hash under it."""

from __future__ import annotations

import html
import re
from pathlib import Path

import numpy as np
import pandas as pd

from lookback.files import atomic_path
from lookback.names import one_line
from lookback.tables import csv_text

ROWS_SHOWN = 40


def save_tables(tables: dict[str, pd.DataFrame], folder: str | Path) -> list[Path]:
    """Write `<name>.csv` for every table and `agreement.md`; returns the paths."""
    target = Path(folder)
    written = []
    for name, table in tables.items():
        with atomic_path(target / f"{name}.csv") as temporary:
            temporary.write_text(csv_text(table), encoding="utf-8")
        written.append(target / f"{name}.csv")
    with atomic_path(target / "agreement.md") as temporary:
        temporary.write_text(to_markdown(tables), encoding="utf-8")
    return [*written, target / "agreement.md"]


def to_markdown(tables: dict[str, pd.DataFrame]) -> str:
    """Title, table, reading and footnote of each; long tables are shortened, with a note."""
    parts = ["# Agreement of metrics with people", ""]
    for name, table in tables.items():
        if name == "readings":
            continue
        parts += [f"## {markdown_text(table.attrs['title'])} (`{name}`)", "", _rows(table), ""]
        if len(table) > ROWS_SHOWN:
            parts += [f"{len(table) - ROWS_SHOWN} more rows in `{name}.csv`.", ""]
        parts += [markdown_text(table.attrs["reading"]), "", f"*{markdown_text(table.attrs['footnote'])}*", ""]
    return "\n".join(parts)


def _rows(table: pd.DataFrame) -> str:
    shown = table.head(ROWS_SHOWN)
    header = "| " + " | ".join(markdown_text(str(name)) for name in shown.columns) + " |"
    rule = "|" + "---|" * shown.shape[1]
    lines = ["| " + " | ".join(_cell(v) for v in row) + " |" for row in shown.itertuples(index=False)]
    return "\n".join([header, rule, *lines])


def _cell(value: object) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}"
    return markdown_text(str(value))


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is: one line, no HTML, no link, no picture, no cell border."""
    line = html.escape(one_line(" ".join(text.split())), quote=False)
    return re.sub(r"([\\`\[\]|])", r"\\\1", line)
