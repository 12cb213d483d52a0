"""Stage 70: test the metrics with failures of known severity, with controls that destroy memory, and with nuisances."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from lookback.demo.audit.figures import dose_figure, invariance_figure, sensitivity_figure
from lookback.demo.audit.reading import failure_readings, finding, metric_readings
from lookback.demo.audit.sensitivity import invariance, paired_drops, reactions, sensitivity, thresholds
from lookback.demo.audit.trial import run_trials
from lookback.figures import save_figure
from lookback.files import write_text
from lookback.params import RunParams
from lookback.scoring.variants import only_chosen
from lookback.tables import csv_text, read_table


def audit(params: RunParams) -> dict[str, pd.DataFrame]:
    """Drops per injected failure (demo world), reactions to corruptions (any run), and a summary. Only if `audit.enabled`."""
    params.paths.clear("audit")
    if not params.audit.enabled:
        return {}
    folder = params.paths.tables
    clips, segments, truth, gated = (read_table(folder, name) for name in ("clips", "segments", "truth", "gated"))
    trials = run_trials(params, clips, segments, truth)
    reacted = reactions(only_chosen(trials, params) if len(trials) else trials)
    drops = paired_drops(only_chosen(gated, params), truth)
    table = sensitivity(drops, thresholds(reacted, params.audit.false_alarms))
    invariances = invariance(reacted)
    tables = {
        "drops": drops,
        "sensitivity": table,
        "reactions": reacted,
        "invariance": invariances,
        "failures": failure_readings(table),
        "metrics": metric_readings(table, invariances),
    }
    for name, frame in tables.items():
        write_text(folder / "audit" / f"{name}.csv", csv_text(frame))
    if len(tables["failures"]):
        write_text(folder / "audit" / "finding.txt", finding(tables["failures"]) + "\n")
    for name, (figure, caption) in audit_figures(tables).items():
        save_figure(figure, params.paths.figures / "audit", name, caption)
    return tables


def audit_figures(tables: dict[str, pd.DataFrame]) -> dict[str, tuple[Figure, str]]:
    """The figures for the tables that have rows."""
    drawn: dict[str, tuple[Figure, str]] = {}
    if len(tables["sensitivity"]):
        drawn["sensitivity"] = sensitivity_figure(tables["sensitivity"])
    if tables["sensitivity"]["meant"].any():
        drawn["dose_response"] = dose_figure(tables["drops"], tables["sensitivity"])
    if len(tables["invariance"]):
        drawn["invariance"] = invariance_figure(tables["invariance"])
    return drawn
