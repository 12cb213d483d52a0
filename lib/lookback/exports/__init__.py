"""Exports that the benchmarks' own users can read; each benchmark declares its formats."""

from __future__ import annotations

from pathlib import Path

from lookback.benchmark import Export
from lookback.errors import UsageError, hint
from lookback.params import RunParams
from lookback.registry import BENCHMARKS


def formats() -> dict[str, Export]:
    """Every benchmark's formats by name."""
    return {name: write for benchmark in BENCHMARKS for name, write in benchmark.exports().items()}


def export(name: str, params: RunParams, output: Path) -> Path:
    """Write a run in one of the formats; returns what was written."""
    known = formats()
    if name not in known:
        raise UsageError(f"There is no export format '{name}'; {hint(name, known)}")
    return known[name](params, output)
