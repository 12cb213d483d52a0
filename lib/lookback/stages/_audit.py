"""Stage 70: the metrics on trial, on failures whose severity is known."""

from __future__ import annotations

import pandas as pd

from lookback.audit.figures import sensitivity_figure
from lookback.audit.sensitivity import paired_drops, sensitivity
from lookback.figures import save_figure
from lookback.files import write_text
from lookback.params import RunParams
from lookback.scoring.variants import only_chosen
from lookback.tables import read_table


def audit(params: RunParams) -> dict[str, pd.DataFrame]:
    """Metric x failure on the demo world's clips; a run without known failures has nothing to try."""
    folder = params.paths.tables
    truth = read_table(folder, "truth")
    if not params.audit.enabled or truth.empty:
        return {}
    drops = paired_drops(only_chosen(read_table(folder, "gated"), params), truth)
    table = sensitivity(drops)
    for name, frame in (("drops", drops), ("sensitivity", table)):
        write_text(folder / "audit" / f"{name}.csv", frame.to_csv(index=False))
    if len(table):
        figure, caption = sensitivity_figure(table)
        save_figure(figure, params.paths.figures / "audit", "sensitivity", caption)
    return {"drops": drops, "sensitivity": table}
