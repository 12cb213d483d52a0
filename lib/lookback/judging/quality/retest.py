"""Test-retest: does a judge answer the same question the same way twice?"""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from lookback.errors import Reason
from lookback.judging.quality.shared import QUESTION, answered, clip_names, estimate_row, scale
from lookback.stats import gwet_ac1, gwet_ac2, percent_agreement

COLUMNS = ["judge", "task", "measure", "value", "low", "high", "n", "reason"]


def test_retest(judgements: pd.DataFrame) -> pd.DataFrame:
    """Per judge and task: share of agreeing repeats, AC1 (yes/no) or AC2 (ratings), and the mean spread of the value.

    Every repeat counts as a rater of the same questions; questions with one answer only say nothing. Intervals are over clips.
    """
    rows = []
    for (judge, task), part in answered(judgements).groupby(["judge", "task"], sort=True):
        table = part.pivot_table(index=QUESTION, columns="repeat", values="answer", aggfunc="first", sort=True)
        if table.shape[1] < 2:
            continue
        categories = scale(task)
        votes = table.where(table.isin(categories), None)
        name, coefficient = ("AC1", gwet_ac1) if len(categories) == 2 else ("AC2", gwet_ac2)
        clips = clip_names(votes.reset_index())
        measures = {
            "agreement": estimate_row(partial(percent_agreement, votes, categories, clusters=clips)),
            name: estimate_row(partial(coefficient, votes, categories, clusters=clips)),
            "spread of value": _spread(part),
        }
        rows += [{"judge": judge, "task": task, "measure": name, **row} for name, row in measures.items()]
    return pd.DataFrame(rows, columns=COLUMNS)


def _spread(part: pd.DataFrame) -> dict[str, Any]:
    """The mean over questions with two or more answers of the standard deviation of their values."""
    values = part.groupby(QUESTION)["value"]
    spread = values.std(ddof=0)[values.count() > 1]
    value, reason = (float(spread.mean()), "") if len(spread) else (None, str(Reason.TOO_FEW_VALUES))
    return {"value": value, "low": None, "high": None, "n": len(spread), "reason": reason}


test_retest.__test__ = False  # type: ignore[attr-defined]  # a statistic's name, not a test of pytest's
