"""Reading and writing tables: validated, sorted by key, byte-identical for the same content."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pandera.errors
import pyarrow as arrow
import pyarrow.parquet as parquet
from pandas.api.extensions import ExtensionDtype
from pandera.pandas import Column, DataFrameSchema

from lookback.errors import ContractError
from lookback.files import atomic_path
from lookback.tables.schemas import SCHEMAS


def empty_table(name: str) -> pd.DataFrame:
    """A table with the schema's columns and no row."""
    schema = SCHEMAS[name]
    return pd.DataFrame({column: pd.Series(dtype=str(spec.dtype)) for column, spec in schema.columns.items()})


def check_table(name: str, frame: pd.DataFrame, where: str = "") -> pd.DataFrame:
    """The frame with the schema's types, or a ContractError that names table, column, rule and the first bad rows."""
    schema = SCHEMAS[name]
    place = f" ({where})" if where else ""
    missing = [column for column in schema.columns if column not in frame.columns]
    unknown = [column for column in frame.columns if column not in schema.columns]
    if missing or unknown:
        parts = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"has unknown {', '.join(map(str, unknown))}"] * bool(unknown)
        raise ContractError(f"Table '{name}'{place} {' and '.join(parts)}; its columns are {', '.join(schema.columns)}")
    chosen = _typed(frame[list(schema.columns)].reset_index(drop=True), schema)
    if _obeys(chosen, schema):
        return chosen
    try:
        return schema.validate(chosen, lazy=True)
    except pandera.errors.SchemaErrors as error:
        cases = error.failure_cases
        first = cases.iloc[0]
        rows = sorted({int(index) for index in cases["index"].dropna()})[:5]
        column = f"column '{first['column']}': " if isinstance(first["column"], str) else ""
        raise ContractError(
            f"Table '{name}'{place} breaks its schema: {column}{first['check']}, bad value {first['failure_case']!r}"
            + (f", rows {rows}" if rows else "")
            + f"; {len(cases)} problem(s) in all"
        ) from None


def _typed(frame: pd.DataFrame, schema: DataFrameSchema) -> pd.DataFrame:
    """The frame with the schema's types, if nothing can be lost."""
    kept = frame.dtypes.to_dict()
    wanted = {name: dtype for name, spec in schema.columns.items() if (dtype := _dtype(spec)) != kept[name]}
    safe = frame.empty or all(_loses_nothing(frame[name], dtype, schema.columns[name]) for name, dtype in wanted.items())
    return frame.astype(wanted) if wanted and safe else frame


def _loses_nothing(column: pd.Series, dtype: ExtensionDtype | np.dtype, spec: Column) -> bool:
    """Whether types differ in how they are kept alone (whole numbers with and without gaps, strings), or no cell has a value."""
    return str(column.dtype) in (str(dtype), str(dtype).lower()) or (spec.nullable and all(value is None for value in column))


def _dtype(spec: Column) -> ExtensionDtype | np.dtype:
    return pd.api.types.pandas_dtype(spec.dtype.type)


def _obeys(frame: pd.DataFrame, schema: DataFrameSchema) -> bool:
    """Whether the frame has the schema's types already and breaks none of its rules.

    This takes a tenth of the time of pandera's `validate`, which converts types and names what is wrong, and is asked for the rest.
    """
    kept = frame.dtypes.to_dict()
    for name, spec in schema.columns.items():
        if kept[name] != _dtype(spec) or (not spec.nullable and frame[name].hasnans):
            return False
    if frame.empty:
        return True
    rules = [(check, frame[name]) for name, spec in schema.columns.items() for check in spec.checks]
    rules += [(check, frame) for check in schema.checks]
    return all(check(data).check_passed for check, data in rules) and not frame.duplicated(schema.unique).any()


def write_table(folder: Path, name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Check, sort by key, write `<folder>/<name>.parquet` atomically; returns what was written."""
    checked = check_table(name, frame, where="being written")
    keys = list(SCHEMAS[name].unique or [])
    checked = checked.sort_values(keys, kind="stable").reset_index(drop=True)
    with atomic_path(folder / f"{name}.parquet") as temporary:
        parquet.write_table(arrow.Table.from_pandas(checked, preserve_index=False), temporary, compression="zstd")
    return checked


def read_table(folder: Path, name: str) -> pd.DataFrame:
    """Read and check one table."""
    path = folder / f"{name}.parquet"
    if not path.is_file():
        raise ContractError(f"Table '{name}' is not there: {path}; run the stage that writes it first (make report does all)")
    try:
        frame = parquet.read_table(path).to_pandas()
    except (OSError, ValueError, LookupError, TypeError, arrow.ArrowException) as error:  # also broken metadata
        raise ContractError(f"Table '{name}' cannot be read: {path} ({error}); delete it and run its stage again") from None
    return check_table(name, frame, where=path.name)
