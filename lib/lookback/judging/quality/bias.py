"""Bias of the form of a question: does a judge say Yes too readily, and does the place in the list matter?"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from lookback.judging.quality.shared import answered, estimate_row, polarity
from lookback.stats import proportion, spearman

POLARITY_COLUMNS = ["judge", "task", "measure", "value", "low", "high", "n", "reason"]


def polarity_bias(judgements: pd.DataFrame) -> pd.DataFrame:
    """Per judge and task: yes rate and pass rate by polarity, and their difference.

    A positive question passes with Yes, a negative one with No. Over clips that are asked both, a judge without acquiescence bias
    has equal pass rates; `yes bias` = pass rate (positive) - pass rate (negative), above 0 when it says Yes too readily.
    """
    rows = []
    for (judge, task), part in _with_polarity(judgements).groupby(["judge", "task"], sort=True):
        passes = {}
        for side in ("positive", "negative"):
            chosen = part[part["polarity"] == side]
            yes, n = int((chosen["answer"] == "yes").sum()), len(chosen)
            hits = yes if side == "positive" else n - yes
            passes[side] = hits / n if n else None
            rows.append(_row(judge, task, f"yes rate, {side}", yes, n))
            rows.append(_row(judge, task, f"pass rate, {side}", hits, n))
        both = None not in passes.values()
        bias = float(passes["positive"] - passes["negative"]) if both else None  # type: ignore[operator]
        reason = "" if both else "too_few_values"
        rows.append({"judge": judge, "task": task, "measure": "yes bias", "value": bias, "n": len(part), "reason": reason})
    return pd.DataFrame(rows, columns=POLARITY_COLUMNS)


def position_bias(judgements: pd.DataFrame) -> pd.DataFrame:
    """Per judge: Spearman's rho between a VQA question's place in the bank and whether it passes; 0 without position bias."""
    rows = []
    vqa = _with_polarity(judgements[judgements["task"] == "vqa"])
    for judge, part in vqa.groupby("judge", sort=True):
        place = pd.to_numeric(part["question_id"].str.rpartition(".")[2], errors="coerce")
        passed = (part["answer"] == "yes") == (part["polarity"] == "positive")
        known = place.notna()
        row = estimate_row(partial(spearman, place[known].to_numpy(), passed[known].to_numpy(np.float64)))
        rows.append({"judge": judge, "task": "vqa", "measure": "Spearman(place, passed)", **row})
    return pd.DataFrame(rows, columns=POLARITY_COLUMNS)


def _with_polarity(judgements: pd.DataFrame) -> pd.DataFrame:
    rows = answered(judgements)
    sides = [polarity(task, name) for task, name in zip(rows["task"], rows["question_id"], strict=True)]
    rows = rows.assign(polarity=sides)
    return rows[(rows["polarity"] != "") & rows["answer"].isin(["yes", "no"])]


def _row(judge: str, task: str, measure: str, hits: int, n: int) -> dict[str, object]:
    return {"judge": judge, "task": task, "measure": measure, **estimate_row(partial(proportion, measure, hits, n))}
