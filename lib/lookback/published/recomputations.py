"""The functions that a claim can name: small pure functions of the printed tables.

A function gets the tables and the arguments of the claim. It returns a float, an int (a count, compared exactly) or a name. A row
of a table is named by the value in its first column. `where` keeps the rows whose column has one of the given values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from lookback.errors import UsageError
from lookback.registry import Registry, parts
from lookback.stats.correlations import spearman_rows

Tables = Mapping[str, pd.DataFrame]
Value = float | int | str
Where = Mapping[str, Any] | None
Function = TypeVar("Function", bound=Callable[..., Value])


@dataclass(frozen=True)
class Recomputation:
    """A registered function. `looked_up`: its result is itself a printed number, so no rounding adds up in it."""

    function: Callable[..., Value]
    looked_up: bool


RECOMPUTATIONS: Registry[Recomputation] = Registry("recomputation", lambda: parts("claims"), "lookback.claims")


def recomputation(looked_up: bool = False) -> Callable[[Function], Function]:
    """Register a function under its own name."""

    def register(function: Function) -> Function:
        RECOMPUTATIONS.add(function.__name__, Recomputation(function, looked_up))
        return function

    return register


def evaluate(spec: Mapping[str, Any], tables: Tables) -> Value:
    """Call the named function. Arguments that are specifications themselves are evaluated first."""
    arguments = {
        key: evaluate(value, tables) if isinstance(value, Mapping) and "function" in value else value
        for key, value in spec.items()
        if key != "function"
    }
    return RECOMPUTATIONS.get(spec["function"]).function(tables, **arguments)


def chosen(tables: Tables, table: str, where: Where = None) -> pd.DataFrame:
    """The rows of a table that `where` keeps; a value that no row has is an error."""
    frame = tables[table]
    for column, wanted in (where or {}).items():
        values = wanted if isinstance(wanted, list) else [wanted]
        unknown = [value for value in values if not (tables[table][column] == value).any()]
        if unknown:
            raise UsageError(f"table '{table}' has no row with {column} = {unknown[0]!r}")
        frame = frame[frame[column].isin(values)]
    return frame


def _number(value: Any) -> float | int:
    """A plain Python number; a count stays an int."""
    return int(value) if isinstance(value, int | np.integer) else float(value)


@recomputation(looked_up=True)
def cell(tables: Tables, table: str, row: str, column: str) -> float | int:
    """One printed number."""
    return _number(chosen(tables, table, {tables[table].columns[0]: row})[column].iloc[0])


@recomputation(looked_up=True)
def text(tables: Tables, table: str, row: str, column: str) -> str:
    """One printed word."""
    return str(chosen(tables, table, {tables[table].columns[0]: row})[column].iloc[0])


@recomputation(looked_up=True)
def smallest(tables: Tables, table: str, column: str, where: Where = None) -> float | int:
    """The smallest number of a column."""
    return _number(chosen(tables, table, where)[column].min())


@recomputation(looked_up=True)
def largest(tables: Tables, table: str, column: str, where: Where = None) -> float | int:
    """The largest number of a column."""
    return _number(chosen(tables, table, where)[column].max())


@recomputation(looked_up=True)
def in_order(
    tables: Tables, table: str, column: str, first: int, where: Where = None, ascending: bool = False, without: Where = None
) -> str:
    """The names of the first rows by a column, best first: "A > B"."""
    frame = chosen(tables, table, where)
    for name, values in (without or {}).items():
        frame = frame[~frame[name].isin(values)]
    ordered = frame.sort_values(column, ascending=ascending, kind="stable")
    return " > ".join(ordered.iloc[:first, 0])


@recomputation()
def row_maximum(tables: Tables, table: str, row: str, first: int) -> str:
    """The columns of one row with the largest numbers, largest first."""
    values = chosen(tables, table, {tables[table].columns[0]: row}).iloc[0, 1:].astype(float)
    return " > ".join(values.sort_values(ascending=False, kind="stable").index[:first])


@recomputation()
def count(tables: Tables, table: str, where: Where = None, present: str = "") -> int:
    """The number of rows; with `present`, of those that have a number in that column."""
    frame = chosen(tables, table, where)
    return int(frame[present].notna().sum()) if present else len(frame)


@recomputation()
def rows_above(tables: Tables, table: str, column: str, other: str, where: Where = None) -> int:
    """The number of rows in which one column is larger than another."""
    frame = chosen(tables, table, where)
    return int((frame[column] > frame[other]).sum())


@recomputation()
def number_columns(tables: Tables, table: str) -> int:
    """The number of columns that hold numbers."""
    return len(tables[table].select_dtypes("number").columns)


@recomputation()
def total(tables: Tables, table: str, column: str, where: Where = None, present: str = "") -> int:
    """The sum of a column of counts; with `present`, over the rows that have a number in that column."""
    frame = chosen(tables, table, where)
    return int(frame.loc[frame[present].notna() if present else frame.index, column].sum())


@recomputation()
def share_of_counts(tables: Tables, table: str, counts: str, percent: str) -> float:
    """Sum of counts times percentages: the number of outputs that the printed shares describe."""
    frame = tables[table]
    return float((frame[counts] * frame[percent] / 100).sum())


@recomputation()
def mean(tables: Tables, table: str, row: str, columns: list[str]) -> float:
    """The mean of some columns of one row."""
    return float(chosen(tables, table, {tables[table].columns[0]: row})[columns].iloc[0].astype(float).mean())


@recomputation()
def difference(tables: Tables, first: float, second: float) -> float:
    """First minus second."""
    return first - second


@recomputation()
def ratio(tables: Tables, first: float, second: float) -> float:
    """First over second."""
    return first / second


@recomputation(looked_up=True)
def column_range(tables: Tables, table: str, column: str) -> float:
    """Largest minus smallest. Compared at the quoted digits only: with ties the same rounding would count several times."""
    return float(tables[table][column].max() - tables[table][column].min())


@recomputation()
def pearson(tables: Tables, table: str, x: str, y: str) -> float:
    """Pearson's r of two columns over the rows that have both."""
    both = tables[table][[x, y]].dropna().to_numpy(dtype=float)
    return float(np.corrcoef(both.T)[0, 1])


@recomputation()
def pearson_extreme(tables: Tables, table: str, xs: list[str], ys: list[str], which: str) -> float:
    """The smallest or largest r between one set of columns and another."""
    values = [pearson(tables, table, x, y) for x in xs for y in ys]
    return float(min(values) if which == "smallest" else max(values))


@recomputation()
def spearman(tables: Tables, table: str, x: str, y: str) -> float:
    """Spearman's rho of two columns over the rows that have both."""
    both = tables[table][[x, y]].dropna().to_numpy(dtype=float)
    return float(spearman_rows(both[None, :, 0], both[None, :, 1])[0])


@recomputation()
def rank(tables: Tables, table: str, row: str, column: str, where: Where = None, ascending: bool = False) -> int:
    """The place of a row in a column, 1 for the largest (smallest when ascending)."""
    frame = chosen(tables, table, where)
    own = cell(tables, table, row, column)
    return 1 + int((frame[column] < own).sum() if ascending else (frame[column] > own).sum())


@recomputation()
def times_best(tables: Tables, table: str, row: str, columns: list[str], where: Where = None, worst: bool = False) -> int:
    """In how many of the columns a row is best (or worst); columns in which less is better are taken from the register."""
    lower = set(tables["dimensions"].loc[~tables["dimensions"]["higher_is_better"], "column"])
    return sum(rank(tables, table, row, column, where, (column in lower) != worst) == 1 for column in columns)


@recomputation()
def times_below_mean(tables: Tables, table: str, row: str, columns: list[str]) -> int:
    """In how many of the columns a row lies below the mean of all rows."""
    return sum(bool(cell(tables, table, row, column) < tables[table][column].mean()) for column in columns)


@recomputation()
def times_larger(tables: Tables, table: str, row: str, than: str, columns: list[str]) -> int:
    """In how many of the columns one row is larger than another."""
    return sum(cell(tables, table, row, column) > cell(tables, table, than, column) for column in columns)


@recomputation()
def rows_larger(tables: Tables, table: str, column: str, than: str) -> int:
    """In how many rows one column is larger than another."""
    return int((tables[table][column] > tables[table][than]).sum())


@recomputation()
def differences_recomputed(tables: Tables, table: str, triples: list[list[str]], half: float = 0.0005) -> int:
    """How many printed differences |a - b| = d agree: d within 3 half digits, as all three numbers were rounded."""
    frame, agreeing = tables[table], 0
    for a, b, d in triples:
        halves = 0.005 if frame[a].abs().max() > 1 else half
        agreeing += int(((frame[a] - frame[b]).abs() - frame[d]).abs().le(3 * halves + 1e-9).sum())
    return agreeing


@recomputation()
def quotients_recomputed(tables: Tables, table: str, first: str, second: str, quotient: str, half: float) -> int:
    """How many printed quotients agree with their two exact counts."""
    frame = tables[table]
    return int((frame[first] / frame[second] - frame[quotient]).abs().le(half + 1e-9).sum())
