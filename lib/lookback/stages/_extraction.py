"""Stage 20: artifacts of every clip."""

from __future__ import annotations

import pandas as pd

from lookback.clips import clips_from_frame
from lookback.extraction.built import look_again
from lookback.extraction.needs import check_models
from lookback.extraction.run import extract_run
from lookback.params import RunParams
from lookback.tables import SCHEMAS, empty_table, read_table, write_table
from lookback.timings import Timings


def extraction(params: RunParams) -> dict[str, pd.DataFrame]:
    """Extract the run's roles; writes the table `artifacts`, and the time spent to `timings/extraction.csv`."""
    look_again()
    folder = params.paths.tables
    clips = read_table(folder, "clips")
    check_models(params, clips_from_frame(clips))
    spent = Timings(params.paths.root / "timings" / "extraction.csv", "role")
    artifacts, timings = extract_run(params, clips, spent.add)
    complete = artifacts[list(SCHEMAS["artifacts"].columns)] if len(artifacts) else empty_table("artifacts")
    written = write_table(folder, "artifacts", complete)
    spent.tidy(clips)
    return {"artifacts": written, "timings": timings}
