"""MBench's run folder with the run's MBench clips and metrics alone."""

from __future__ import annotations

from pathlib import Path

from lookback.errors import ContractError
from lookback.exports.run_folder import write_run_folder
from lookback.params import RunParams
from lookback.tables import read_table


def export_mbench(params: RunParams, output: Path) -> Path:
    """Items, units and summaries in the layout of its README, "Output Layout"."""
    if "mbench" not in set(read_table(params.paths.tables, "clips")["benchmark"]):
        raise ContractError(f"The run '{params.run}' has no MBench clips to export")
    return write_run_folder(params, output, benchmark="mbench")
