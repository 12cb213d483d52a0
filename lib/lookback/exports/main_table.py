"""A benchmark's main table as CSV, full precision."""

from __future__ import annotations

from pathlib import Path

from lookback.benchmark import Export
from lookback.errors import ContractError
from lookback.files import write_text
from lookback.params import RunParams
from lookback.report.build import ReportBuilder


def main_table_export(table: str, title: str) -> Export:
    """A format that writes one of the report's tables."""

    def write(params: RunParams, output: Path) -> Path:
        builder = ReportBuilder(params)
        builder.papers()
        if table not in builder.written:
            raise ContractError(f"The run '{params.run}' has no {title} clips to export")
        write_text(output, builder.written[table].to_csv())
        return output

    return write
