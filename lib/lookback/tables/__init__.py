"""Tables: Parquet with a declared schema, checked when read and when written."""

import pandas as pd

# Strings as Python objects, as in pandas 2. Every call of Arrow's strings costs tens of microseconds, and a stage makes hundreds of
# thousands of calls over tables of a few hundred rows: the analysis of votes takes a third less time. A user's own choice stays.
if pd.get_option("mode.string_storage") == "auto":
    pd.set_option("mode.string_storage", "python")

# isort: split
from lookback.tables.csv_files import csv_text, read_csv
from lookback.tables.io import check_table, empty_table, read_table, write_table
from lookback.tables.schemas import PROVENANCE, SCHEMAS

__all__ = ["PROVENANCE", "SCHEMAS", "check_table", "csv_text", "empty_table", "read_csv", "read_table", "write_table"]
