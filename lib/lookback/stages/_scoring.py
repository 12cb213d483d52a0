"""Stage 30: units and items from clips and artifacts."""

from __future__ import annotations

import pandas as pd

from lookback.extraction.built import look_again
from lookback.files import write_text
from lookback.params import RunParams
from lookback.registry import BENCHMARKS
from lookback.scoring.run import score_run
from lookback.tables import SCHEMAS, csv_text, empty_table, read_table, write_table
from lookback.timings import Timings


def scoring(params: RunParams) -> dict[str, pd.DataFrame]:
    """Score every clip with every metric that applies; writes `units` and `items`, and the time spent to `timings/scoring.csv`."""
    look_again()
    folder = params.paths.tables
    clips, segments, artifacts = (read_table(folder, name) for name in ("clips", "segments", "artifacts"))
    params.paths.clear("scoring")
    spent = Timings(params.paths.root / "timings" / "scoring.csv", "part")
    units, items, timings = score_run(params, clips, segments, artifacts, spent.add)
    tables = {"timings": timings}
    for name, frame in (("units", units), ("items", items)):
        complete = frame[list(SCHEMAS[name].columns)] if len(frame) else empty_table(name)
        tables[name] = write_table(folder, name, complete)
    spent.tidy(clips)
    if params.scoring.sweeps:
        for name, table in _sweeps(params, clips, segments, artifacts).items():
            tables[name] = table
            write_text(folder / "scoring" / f"{name}.csv", csv_text(table))
    return tables


def _sweeps(params: RunParams, clips: pd.DataFrame, segments: pd.DataFrame, artifacts: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Score every benchmark's clips again under the other settings that its paper tries."""
    found: dict[str, pd.DataFrame] = {}
    for name, own in clips.groupby("benchmark", sort=True):
        found |= BENCHMARKS.get(str(name)).sweeps(params, own, segments, artifacts)
    return found
