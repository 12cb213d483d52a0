"""The trigger gate: items of MBench-T clips that never entered their memory challenge lose their score."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from lookback.clips import KEYS
from lookback.errors import Reason
from lookback.judging.verdicts import Verdict
from lookback.scoring.aggregate import TRIGGER_DETAIL

KEPT = {str(Reason.NOT_APPLICABLE)}  # a metric that never applied stays what it is


def gate_items(items: pd.DataFrame, triggers: Mapping[tuple[str, ...], Verdict]) -> pd.DataFrame:
    """The items after the gate. `triggers` holds the verdict of each clip that was asked; other clips pass as they are.

    No: the row has reason `not_triggered`. No readable answer: the row has that reason, because a missing answer is not a No and
    not a Yes. MBench-A and the other benchmarks are never gated.
    """
    gated = items.copy()
    keys = list(zip(*(gated[name] for name in KEYS), strict=True)) if len(gated) else []
    for place, key in enumerate(keys):
        verdict = triggers.get(key)
        if verdict is None or verdict.answer == "yes" or gated["reason"].iat[place] in KEPT:
            continue
        reason = Reason.NOT_TRIGGERED if verdict.answer == "no" else verdict.reason or Reason.JUDGE_UNPARSED
        before = gated["reason"].iat[place]
        detail = f"{TRIGGER_DETAIL}{verdict.judge}: {verdict.verbatim[:300]}" + (f" (was {before})" if before else "")
        for column, value in (("value", float("nan")), ("raw", float("nan")), ("reason", str(reason)), ("detail", detail)):
            gated.iat[place, gated.columns.get_loc(column)] = value
    return gated


def trigger_verdicts(verdicts: Mapping[tuple[str, ...], Mapping[str, Mapping[str, Verdict]]]) -> dict[tuple[str, ...], Verdict]:
    """Each clip's trigger verdict, where it was asked."""
    return {key: tasks["trigger"]["trigger"] for key, tasks in verdicts.items() if "trigger" in tasks.get("trigger", {})}
