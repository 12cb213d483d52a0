"""The quality tables a run leaves behind, and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from lookback.files import write_text
from lookback.judging.quality.accuracy import trigger_labels
from lookback.judging.quality.agreement import disagreements, judge_agreement
from lookback.judging.quality.bias import polarity_bias, position_bias
from lookback.judging.quality.calibration import calibration_table
from lookback.judging.quality.confidence import judge_calibration
from lookback.judging.quality.cost import cost_per_clip
from lookback.judging.quality.figures import calibration_figure, funnel_figure
from lookback.judging.quality.funnel import gate_funnel
from lookback.judging.quality.retest import test_retest
from lookback.params import RunParams
from lookback.tables import csv_text, read_csv


def write_quality(
    params: RunParams,
    judgements: pd.DataFrame,
    calls: Sequence[dict[str, Any]],
    clips: pd.DataFrame,
    *,
    ratings: pd.DataFrame | None = None,
    truth: pd.DataFrame | None = None,
    further: Mapping[str, pd.DataFrame],
) -> None:
    """CSV tables below `tables/judging`, and the cost beside the recording.

    Calibration is there where triggers have labels (people's votes, the demo world's truth); `further` are the benchmarks' own
    tables about their questions.
    """
    folder = params.paths.tables / "judging"
    tables = {
        "test_retest": test_retest(judgements),
        "polarity_bias": polarity_bias(judgements, params.seed),
        "position_bias": position_bias(judgements, params.seed),
        "judge_agreement": judge_agreement(judgements),
        "disagreements": disagreements(judgements),
    }
    for judge in measuring_judges(judgements):
        tables[f"gate_funnel_{judge}"] = gate_funnel(judgements, judge)
    where_known = {"calibration": judge_calibration(judgements, clips, ratings=ratings, truth=truth), **further}
    for name, table in where_known.items():
        if len(table):
            tables[name] = table
        else:
            (folder / f"{name}.csv").unlink(missing_ok=True)  # left by a run with other parameters
    for name, table in tables.items():
        write_text(folder / f"{name}.csv", csv_text(table))
    costs = cost_per_clip(calls)
    if len(costs):
        write_text(params.paths.root / "judge_cache" / "cost.csv", csv_text(costs))


def saved_quality(params: RunParams, name: str) -> pd.DataFrame:
    """A table `write_quality` left; empty where the run had nothing to write it from."""
    path = params.paths.tables / "judging" / f"{name}.csv"
    return read_csv(path) if path.is_file() else pd.DataFrame()


def judging_figures(judgements: pd.DataFrame, ratings: pd.DataFrame | None = None) -> dict[str, tuple[Figure, str]]:
    """By name: the gate funnel of every measuring judge, and the trigger judges' calibration where people voted."""
    drawn = {f"gate_funnel_{judge}": funnel_figure(gate_funnel(judgements, judge), judge) for judge in measuring_judges(judgements)}
    labels = trigger_labels(judgements, ratings) if ratings is not None else pd.DataFrame()
    if len(labels):
        tables = {judge: calibration_table(part["value"], part["human"]) for judge, part in labels.groupby("judge", sort=True)}
        drawn["calibration"] = calibration_figure(tables, "the human majority")
    return drawn


def measuring_judges(judgements: pd.DataFrame) -> list[str]:
    """The judges that answered the timeline: geometric, simulated."""
    return sorted(set(judgements.loc[judgements["task"] == "timeline", "judge"]))
