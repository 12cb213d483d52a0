"""A printed table in its paper's shape, best and second best marked as the paper marks them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookback.published import half_digits, load
from lookback.published.printed import Printed
from lookback.published.register import dimensions
from lookback.report.table import PaperTable, mark_best


def paper_table(printed: Printed) -> PaperTable:
    """One printed table ready to be shown."""
    source, halves = load(printed.name), half_digits(printed.name)
    for column, value in printed.where.items():
        source = source[source[column] == value]
    flags = [column for column in source.columns if pd.api.types.is_bool_dtype(source[column])]
    numbers = [column for column in printed.columns or source.select_dtypes("number").columns if column not in flags]
    numbers = [column for column in numbers if source[column].notna().any()]
    frame = source[[*printed.labels, *numbers]].reset_index(drop=True)
    for column in (column for column in printed.labels if column in flags):
        frame[column] = frame[column].map({True: "yes", False: "no"})
    digits = {column: _digits(halves.loc[source.index, column]) for column in numbers}
    register = dimensions().set_index("column")
    headers = {
        column: str(register["header"].get(column, column.replace("_pct", " %").replace("_", " "))) for column in frame.columns
    }
    table = PaperTable(printed.id, printed.title, frame, list(printed.labels), digits, headers={**headers, **printed.headers})
    if printed.marked:
        ranked = [column for column in numbers if column not in {"n", "n_outputs", "gt_rotation_deg"}]
        table.better = {
            column: bool(register["higher_is_better"].get(column, True)) and column not in printed.lower for column in ranked
        }
        table.marks = mark_best(frame, table.better, digits, frame[printed.group] if printed.group else None)
    if "sparse" in flags:
        daggers = source["sparse"].map({True: "†", False: ""}).reset_index(drop=True)
        table.suffixes = pd.DataFrame({"reobs_spatial": daggers, "reobs_state": daggers})
    table.reading = printed.reading
    table.notes = [*printed.notes, f"Source: {printed.name}.csv, as printed."]
    return table


def _digits(halves: pd.Series) -> int:
    """How many digits a column was printed with."""
    smallest = halves[halves > 0].min()
    return 0 if np.isnan(smallest) else max(0, round(-np.log10(2 * smallest)))
