"""Test-retest: does a judge answer the same question the same way twice?"""

from __future__ import annotations

from functools import partial

import pandas as pd

from lookback.judging.quality.shared import QUESTION, answered, estimate_row, scale
from lookback.stats import gwet_ac1, gwet_ac2, percent_agreement

COLUMNS = ["judge", "task", "measure", "value", "low", "high", "n", "reason"]


def test_retest(judgements: pd.DataFrame) -> pd.DataFrame:
    """Per judge and task: share of agreeing repeats, AC1 (yes/no) or AC2 (ratings), and the mean spread of the value.

    Every repeat counts as a rater of the same questions; questions with one answer only say nothing.
    """
    rows = []
    for (judge, task), part in answered(judgements).groupby(["judge", "task"], sort=True):
        table = part.pivot_table(index=QUESTION, columns="repeat", values="answer", aggfunc="first", sort=True)
        if table.shape[1] < 2:
            continue
        categories = scale(task)
        votes = table.where(table.isin(categories), None)
        name, coefficient = ("AC1", gwet_ac1) if len(categories) == 2 else ("AC2", gwet_ac2)
        measures = {
            "agreement": estimate_row(partial(percent_agreement, votes, categories)),
            name: estimate_row(partial(coefficient, votes, categories)),
        }
        spread = part.groupby(QUESTION)["value"].std(ddof=0)
        measures["spread of value"] = {"value": float(spread.mean()), "low": None, "high": None, "n": len(spread), "reason": ""}
        rows += [{"judge": judge, "task": task, "measure": name, **row} for name, row in measures.items()]
    return pd.DataFrame(rows, columns=COLUMNS)


test_retest.__test__ = False  # type: ignore[attr-defined]  # a statistic's name, not a test of pytest's
