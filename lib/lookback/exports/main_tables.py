"""WRBench's main table and MemoBench's leaderboard as CSV, full precision."""

from __future__ import annotations

from pathlib import Path

from lookback.errors import ContractError
from lookback.files import write_text
from lookback.params import RunParams


def export_wrbench(params: RunParams, output: Path) -> Path:
    return _write(params, output, "wrbench-2", "WRBench")


def export_memobench(params: RunParams, output: Path) -> Path:
    return _write(params, output, "memobench-2", "MemoBench")


def _write(params: RunParams, output: Path, table: str, benchmark: str) -> Path:
    from lookback.report.build import ReportBuilder  # the report counts this package's preference pairs, so it loads first

    builder = ReportBuilder(params)
    builder.papers()
    if table not in builder.written:
        raise ContractError(f"The run '{params.run}' has no {benchmark} clips to export")
    write_text(output, builder.written[table].to_csv())
    return output
