"""The printed tables of the papers as data: `load("wrbench_table2")`.

The tables are in the folder `published` of each benchmark. The registers of model names and of dimensions are in `data`; its
README.md names the sources.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

import numpy as np
import pandas as pd

from lookback.errors import UsageError
from lookback.published import data
from lookback.registry import benchmark_packages

__all__ = ["half_digits", "load", "names"]

# integer columns are exact counts, except those whose name ends like this: they are rounded measurements
ROUNDED_INTEGERS = ("_pct", "_deg")


def names() -> list[str]:
    """The names of all tables."""
    return sorted(_files())


@cache
def _files() -> dict[str, Traversable]:
    """Every CSV file by its name."""
    folders = [resources.files(data), *(resources.files(package) / "published" for package in benchmark_packages())]
    found = [entry for folder in folders if folder.is_dir() for entry in folder.iterdir()]
    return {entry.name.removesuffix(".csv"): entry for entry in found if entry.name.endswith(".csv")}


def load(name: str) -> pd.DataFrame:
    """One printed table. A "-" in the paper is a missing value.

    >>> load("wrbench_table2").shape
    (23, 13)
    """
    return _read(name).copy()


@cache
def half_digits(name: str) -> pd.DataFrame:
    """Half a unit of the last printed digit of every number: the largest possible rounding error. 0 for exact counts.

    >>> float(half_digits("wrbench_table2").loc[0, "cam_prec"])
    0.0005
    """
    numbers, printed = _read(name), _read(name, dtype=str)
    halves = pd.DataFrame(0.0, index=numbers.index, columns=numbers.columns)
    for column in numbers.columns:
        if not pd.api.types.is_numeric_dtype(numbers[column]) or pd.api.types.is_bool_dtype(numbers[column]):
            continue
        texts = printed[column].fillna("")
        if not texts.str.contains(".", regex=False).any() and not column.endswith(ROUNDED_INTEGERS):
            continue
        halves[column] = [0.0 if text == "" else half_digit(text) for text in texts]
    return halves


def half_digit(text: str) -> float:
    """Half a unit of the last digit of a printed number.

    >>> half_digit("0.97"), half_digit("-5")
    (0.005, 0.5)
    """
    return float(np.round(0.5 * 10.0 ** -len(text.partition(".")[2]), 12))


@cache
def _read(name: str, dtype: type[str] | None = None) -> pd.DataFrame:
    if name not in names():
        raise UsageError(f"no printed table {name!r}; known are {', '.join(names())}")
    with _files()[name].open("r", encoding="utf-8") as stream:
        return pd.read_csv(stream, dtype=dtype)
