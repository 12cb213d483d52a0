"""Exports that the benchmarks' own users can read: MBench's run folder, MIND's Result.json, WRBench's table and preference pairs,
MemoBench's table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lookback.errors import UsageError
from lookback.exports.main_tables import export_memobench, export_wrbench
from lookback.scoring.run_folder import export_mbench
from lookback.benchmarks.mind.export import export_mind
from lookback.benchmarks.wrbench.preferences import export_preferences
from lookback.params import RunParams

FORMATS: dict[str, Callable[[RunParams, Path], Path]] = {
    "mbench": export_mbench,
    "mind": export_mind,
    "wrbench": export_wrbench,
    "memobench": export_memobench,
    "preferences": export_preferences,
}


def export(name: str, params: RunParams, output: Path) -> Path:
    """Write a run in one of the formats; returns what was written."""
    if name not in FORMATS:
        raise UsageError(f"There is no export format '{name}'; formats: {', '.join(FORMATS)}")
    return FORMATS[name](params, output)
