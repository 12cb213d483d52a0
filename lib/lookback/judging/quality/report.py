"""The quality tables and figures a run leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from lookback.files import write_text
from lookback.judging.quality.agreement import disagreements, judge_agreement
from lookback.judging.quality.bias import polarity_bias, position_bias
from lookback.judging.quality.cost import cost_per_clip
from lookback.judging.quality.figures import funnel_figure
from lookback.judging.quality.funnel import gate_funnel
from lookback.judging.quality.retest import test_retest
from lookback.params import RunParams


def write_quality(params: RunParams, judgements: pd.DataFrame, calls: Sequence[dict[str, Any]]) -> None:
    """CSV tables below `tables/judging`, figures below `figures/judging`, and the cost beside the recording."""
    folder = params.paths.tables / "judging"
    tables = {
        "test_retest": test_retest(judgements),
        "polarity_bias": polarity_bias(judgements),
        "position_bias": position_bias(judgements),
        "judge_agreement": judge_agreement(judgements),
        "disagreements": disagreements(judgements),
    }
    for judge in sorted(set(judgements.loc[judgements["task"] == "timeline", "judge"])):
        funnel = gate_funnel(judgements, judge)
        tables[f"gate_funnel_{judge.replace('/', '_')}"] = funnel
        funnel_figure(funnel, params.paths.figures / "judging", judge)
    for name, table in tables.items():
        write_text(folder / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))
    costs = cost_per_clip(calls)
    if len(costs):
        write_text(params.paths.root / "judge_cache" / "cost.csv", costs.to_csv(index=False, lineterminator="\n"))
