"""Stage 10: from datasets on disk (or the demo world) to clips, segments, rejected items and the screen."""

from __future__ import annotations

import pandas as pd

from lookback.curation.gathering import collect, rejected_line
from lookback.demo.source import demo_sources, demo_tables
from lookback.errors import ContractError, UsageError
from lookback.names import one_line
from lookback.params import RunParams
from lookback.progress import say
from lookback.tables import empty_table, write_table


def curation(params: RunParams) -> dict[str, pd.DataFrame]:
    """Read, check, probe and screen everything; writes the stage's tables, with the demo world's truth and ratings."""
    sources = [*params.curation.sources, *demo_sources(params)]
    if not sources:
        raise UsageError(f"The run '{params.run}' names no data; give curation.sources (or curation.world) in its parameter file")
    collected = collect(params, sources)
    for note in collected.notes:
        say(one_line(note))
    tables = {"clips": collected.clips, "segments": collected.segments, "rejected": collected.rejected, "screen": collected.screen}
    tables |= {name: empty_table(name) for name in ("truth", "ratings")} | demo_tables(params, collected.clips)
    written = {name: write_table(params.paths.tables, name, frame) for name, frame in tables.items()}
    if written["clips"].empty:
        rejected = written["rejected"]
        why = rejected_line(rejected, params.paths.tables / "rejected.parquet") if len(rejected) else "the sources are empty"
        raise ContractError(f"No clip can be used: {why}")
    return written
