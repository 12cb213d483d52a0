"""What the quality tables have in common: questions by key, polarity, an estimate or its reason as a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from lookback.clips import KEYS
from lookback.errors import NotScorable
from lookback.registry import BENCHMARKS
from lookback.stats import Estimate

QUESTION = [*KEYS, "task", "question_id"]
YES_NO = ["no", "yes"]
RATINGS = ["1", "2", "3", "4", "5"]
RATED = ("state_progress", "progress_correctness")


def answered(judgements: pd.DataFrame) -> pd.DataFrame:
    """Rows with an answer."""
    return judgements[judgements["reason"] == ""]


def first_repeat(judgements: pd.DataFrame) -> pd.DataFrame:
    """Rows with an answer, of the first repeat."""
    rows = answered(judgements)
    return rows[rows["repeat"] == 0]


def clip_names(rows: pd.DataFrame) -> pd.Series:
    """The clip of each row as one label: the cluster of intervals over questions."""
    return pd.Series(["/".join(key) for key in rows[KEYS].itertuples(index=False)], index=rows.index, dtype=object)


def polarity(task: str, question_id: str) -> str:
    """positive, negative, or empty where a question has no polarity."""
    return next((found for benchmark in BENCHMARKS if (found := benchmark.polarity(task, question_id))), "")


def scale(task: str) -> list[str]:
    """The answers a task may have."""
    return RATINGS if task in RATED else YES_NO


def estimate_row(make: Callable[[], Estimate]) -> dict[str, Any]:
    """value, low, high, n of an estimate, or the reason it has none."""
    try:
        estimate = make()
    except NotScorable as missing:
        return {"value": None, "low": None, "high": None, "n": 0, "reason": str(missing.reason)}
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n, "reason": ""}
