"""The papers' printed tables as data: `load("wrbench_table2")`. Sources: `data/README.md`."""

from __future__ import annotations

from importlib import resources

import pandas as pd

from lookback.errors import UsageError

__all__ = ["load", "names"]


def names() -> list[str]:
    """The tables that `load` knows."""
    return sorted(entry.name.removesuffix(".csv") for entry in _folder().iterdir() if entry.name.endswith(".csv"))


def load(name: str) -> pd.DataFrame:
    """One printed table; an empty cell is missing, as the "-" in the paper is.

    >>> load("wrbench_table2").shape
    (23, 13)
    """
    if name not in names():
        raise UsageError(f"no printed table {name!r}; known are {', '.join(names())}")
    with (_folder() / f"{name}.csv").open("r", encoding="utf-8") as stream:
        return pd.read_csv(stream)


def _folder() -> resources.abc.Traversable:
    return resources.files("lookback.published") / "data"
