"""Exports in formats that the benchmarks' own scripts read. Each benchmark declares its formats."""

from __future__ import annotations

from pathlib import Path

from lookback.benchmark import Export
from lookback.errors import ContractError, UsageError, hint
from lookback.files import write_text
from lookback.params import RunParams
from lookback.registry import BENCHMARKS


def formats() -> dict[str, Export]:
    """Every benchmark's formats by name, and `leaderboard`: all of them in a zip per benchmark."""
    from lookback.exports.leaderboard import write_leaderboard

    own = {name: write for benchmark in BENCHMARKS for name, write in benchmark.exports().items()}
    return {**own, "leaderboard": write_leaderboard}


def export(name: str, params: RunParams, output: Path) -> Path:
    """Write a run in one of the formats; returns the path that was written."""
    known = formats()
    if name not in known:
        raise UsageError(f"There is no export format '{name}'; {hint(name, known)}")
    return known[name](params, output)


def main_table_export(table: str, title: str) -> Export:
    """A format that writes one table of the report as CSV, with full precision."""

    def write(params: RunParams, output: Path) -> Path:
        from lookback.report.beside import own_tables  # its import takes a while

        made = own_tables(params)
        if table not in made:
            raise ContractError(f"The run '{params.run}' has no {title} clips to export")
        write_text(output, made[table][0].to_csv())
        return output

    return write
