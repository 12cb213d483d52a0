"""Tables: Parquet with a declared schema, checked when read and when written."""

from lookback.tables.csv_files import csv_text, read_csv
from lookback.tables.io import check_table, empty_table, read_table, write_table
from lookback.tables.schemas import PROVENANCE, SCHEMAS

__all__ = ["PROVENANCE", "SCHEMAS", "check_table", "csv_text", "empty_table", "read_csv", "read_table", "write_table"]
