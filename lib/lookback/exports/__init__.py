"""Exports that the benchmarks' own users can read; each benchmark declares its formats."""

from __future__ import annotations

from pathlib import Path

from lookback.errors import UsageError, hint
from lookback.params import RunParams
from lookback.registry import BENCHMARKS


def export(name: str, params: RunParams, output: Path) -> Path:
    """Write a run in one of the formats; returns what was written."""
    formats = {known: write for benchmark in BENCHMARKS for known, write in benchmark.exports().items()}
    if name not in formats:
        raise UsageError(f"There is no export format '{name}'; {hint(name, formats)}")
    return formats[name](params, output)
