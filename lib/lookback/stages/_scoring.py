"""Stage 30: units and items from clips and artifacts."""

from __future__ import annotations

import pandas as pd

from lookback.files import write_text
from lookback.params import RunParams
from lookback.scoring.prompt_sweep import prompt_sweep
from lookback.scoring.run import score_run
from lookback.scoring.sweeps import constant_sweeps
from lookback.stages._outputs import clear_outputs
from lookback.tables import SCHEMAS, csv_text, empty_table, read_table, write_table


def scoring(params: RunParams) -> dict[str, pd.DataFrame]:
    """Score every clip with every metric that applies; writes `units` and `items`, and the seconds it took beside the tables."""
    folder = params.paths.tables
    clips, segments, artifacts = (read_table(folder, name) for name in ("clips", "segments", "artifacts"))
    clear_outputs("scoring", params)
    units, items, timings = score_run(params, clips, segments, artifacts)
    tables = {"timings": timings}
    for name, frame in (("units", units), ("items", items)):
        complete = frame[list(SCHEMAS[name].columns)] if len(frame) else empty_table(name)
        tables[name] = write_table(folder, name, complete)
    if len(timings):
        write_text(params.paths.root / "timings" / "scoring.csv", csv_text(timings))
    if params.scoring.sweeps:
        tables["sweeps"] = constant_sweeps(params, clips, segments, artifacts)
        tables["prompts"] = prompt_sweep(params, clips, segments)
        for name in ("sweeps", "prompts"):
            write_text(folder / "scoring" / f"{name}.csv", csv_text(tables[name]))
    return tables
