"""Tables as people read them: at most eight columns, an estimate and its interval in one cell. The CSV files hold everything."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

MOST_COLUMNS = 8
JOINED = "family, setting"  # one column in place of two, where there are too many
# counts that are printed where they are not all zero
COUNTS = ("not_judgeable", "votes_left_out", "too_few_votes", "split", "one_rater", "no_score")
# the columns that matter most, per table; other tables show their first ones
SHOWN: dict[str, tuple[str, ...]] = {
    "main": ("family", "setting", "dimension", "n_items", "coefficient", "people", "measure", "value", "icc_1", "alpha"),
    "exclusions": ("family", "setting", "dimension", "items", *COUNTS),
    "joins": ("family", "metric", "asked", "found", "first_without_score", "scores", "used", "first_unused_score"),
    "agreement": ("family", "setting", "dimension", "n_items", "prevalence", "ac1", "ac2", "alpha", "claim"),
    "reliability": ("family", "setting", "dimension", "n_items", "n_annotators", "icc_1", "icc_k", "k"),
    "annotators": ("family", "annotator", "n_votes", "flags", "agreement", "rank_agreement", "first_side", "top_answer"),
    "influence": ("family", "setting", "dimension", "left_out", "name", "as_planned", "without", "n"),
    "models": ("family", "setting", "dimension", "scale", "model", "value", "letters", "win_ratio"),
    "comparisons": ("family", "setting", "dimension", "scale", "first", "second", "difference", "verdict"),
    "ceiling": ("family", "setting", "dimension", "n_items", "people", "judge", "difference", "verdict", "rho", "rho_ceiling"),
    "ranking": ("family", "setting", "dimension", "n_models", "n_pairs", "rho", "tau", "p_corrected", "claim"),
    "win_ratios": ("family", "setting", "dimension", "model", "n", "win_ratio_human", "win_ratio_metric"),
    "bridge": ("family", "setting", "dimension", "n", "within_rho", "between_rho", "pooled_rho", "reversals", "claim"),
    "rating_metric": ("family", "setting", "dimension", "n", "within_rho", "between_rho", "pooled_rho", "rho_ceiling", "claim"),
    "disagreements": ("family", "dimension", "scene", "model_a", "model_b", "label", "decision", "delta"),
    "consensus": ("family", "dimension", "scene", "model_a", "model_b", "label", "n_votes", "status"),
}
NAMES = {
    "ac1": "AC1",
    "ac2": "AC2",
    "icc_1": "ICC(2,1)",
    "icc_k": "ICC(2,k)",
    "f1": "F1",
    "p_corrected": "p",
    "percent": "agreement",
}
# columns whose bounds may plainly be called low and high; in a table with several of them, those of the first
PLAIN = ("value", "mean", "agreement", "win_ratio", "log_strength", "r", "estimate", "difference", "share", "rho")
# columns that name a row; one that is the same in every row is left out
LABELS = ("family", "kind", "role", "benchmark", "setting", "dimension", "metric", "measure", "question")
HIDDEN = re.compile(r"(^|_)(low|high|se|p|reason|note|method|hint)(_|$)|^(kind|role|benchmark)$")  # the family says the last three


def printed(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """The table as texts: whole where it has eight columns, else the telling ones (not empty, not one label throughout)."""
    kept, table = _shown(name, table), _bare(table)
    if JOINED in kept:
        joined = [f"{family} {setting}".strip() for family, setting in zip(table["family"], table["setting"], strict=True)]
        table = table.assign(**{JOINED: joined})
    cells = {_heading(c): _column(table, c) for c in kept}
    return pd.DataFrame(cells, index=table.index)


def hidden_columns(name: str, table: pd.DataFrame) -> int:
    """How many columns only the CSV shows (bounds that stand in their estimate's cell are shown)."""
    shown = _shown(name, table)
    return len(_without_bounds(table)) - len(set(map(_heading, shown))) - int(JOINED in shown)


def _heading(column: str) -> str:
    return NAMES.get(column, column.removeprefix("n_").replace("_", " "))


def _shown(name: str, table: pd.DataFrame) -> list[str]:
    """The columns that are printed."""
    kept = _without_bounds(table)
    if len(kept) <= MOST_COLUMNS:
        return kept
    wanted = [c for c in table.attrs.get("shown", SHOWN.get(name, ())) if c in table]
    columns = wanted or [c for c in kept if not HIDDEN.search(c)]
    table = _bare(table)
    kept = [c for c in columns if _tells(table, c)] or columns
    if len(kept) > MOST_COLUMNS and {"family", "setting"} <= set(kept):
        kept = [JOINED, *(c for c in kept if c not in ("family", "setting"))]
    return kept[:MOST_COLUMNS]


def _bare(table: pd.DataFrame) -> pd.DataFrame:
    """The table without `attrs`: pandas copies them, readings and all, with every column that is taken."""
    bare = table.copy(deep=False)
    bare.attrs = {}
    return bare


def _without_bounds(table: pd.DataFrame) -> list[str]:
    bounds = {bound for column in table for bound in _bounds(str(column), table)}
    return [str(column) for column in table if column not in bounds]


def _tells(table: pd.DataFrame, column: str) -> bool:
    values = table[column]
    if values.isna().all() or all(str(value) == "" for value in values):
        return False
    if column in LABELS:
        return column in ("dimension", "measure") or values.nunique() > 1
    return column not in COUNTS or bool((values != 0).any())


def _bounds(column: str, table: pd.DataFrame) -> tuple[str, ...]:
    """The names of the columns with the bounds of an estimate."""
    candidates = [f"{column}_low", column.replace("win_ratio", "low"), re.sub(r"_rho$", "_low", column)]
    candidates += ["low"] if column == next((c for c in table if c in PLAIN), None) else []
    for low in candidates:
        high = low.replace("low", "high")
        if low != column and low in table and high in table:
            return low, high
    return ()


def _column(table: pd.DataFrame, column: str) -> list[str]:
    texts = [cell_text(value) for value in table[column]]
    bounds = _bounds(column, table)
    if not bounds:
        return texts
    ends = zip(table[column], table[bounds[0]], table[bounds[1]], strict=True)
    return [
        text if pd.isna(low) or pd.isna(high) else _with_bounds(float(value), float(low), float(high))
        for text, (value, low, high) in zip(texts, ends, strict=True)
    ]


def _with_bounds(value: float, low: float, high: float) -> str:
    """A wide interval has no use for a third digit."""
    wide = high - low > 0.02 and max(abs(low), abs(high)) < 100
    first, second, third = (f"{number:z.2f}" if wide else _digits(number) for number in (value, low, high))
    return f"{first} ({second} to {third})"


def cell_text(value: object) -> str:
    """A cell as it is printed: two or three digits, a whole number without decimals, and a dash where there is no value."""
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return "-"
    if isinstance(value, float | np.floating):
        return f"{int(value)}" if float(value).is_integer() else _digits(float(value))
    return str(value)


def _digits(number: float) -> str:
    """Two or three digits, also of a whole number: an estimate and its bounds look alike."""
    if number.is_integer() and abs(number) >= 1000:
        return f"{number:.0f}"
    return f"{number:.3g}" if 0 < abs(number) < 0.01 or abs(number) >= 100 else f"{number:z.2f}"
