"""Automatic scores beside human labels: score differences of pairs, judges' answers for single clips.

`scores` is the tidy items table: benchmark, setting, model_id, clip_id, metric, value, reason (a value or a reason, never both).
A metric may carry a question's id after "#", as dimensions do.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.errors import ContractError, Reason
from lookback.stats import threshold_decision

KEY = ["benchmark", "setting", "model_id", "clip_id", "metric"]


def check_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """The tidy scores, one row per key; metrics scored in several variants or phases must be narrowed to one first."""
    lacking = [c for c in (*KEY, "value", "reason") if c not in scores]
    if lacking:
        raise ContractError(f"The scores lack the column(s) {', '.join(lacking)}; they are the items table of a run")
    whole = scores[scores["phase"] == ""] if "phase" in scores else scores
    table = whole[[*KEY, "value", "reason"]].copy()
    table["reason"] = table["reason"].fillna("").astype(str)
    untyped = table["value"].isna() != (table["reason"] != "")
    if untyped.any():
        row = table[untyped].iloc[0]
        raise ContractError(f"A score has neither value nor reason, or both: {' / '.join(map(str, row[KEY]))}")
    doubled = table.duplicated(KEY)
    if doubled.any():
        row = table[doubled].iloc[0]
        raise ContractError(f"Two scores for {' / '.join(map(str, row[KEY]))}; keep one variant of each metric")
    return table.reset_index(drop=True)


def judge_scores(judgements: pd.DataFrame) -> pd.DataFrame:
    """A judge's answers as scores named `judge.<task>` (vqa: `judge.vqa#<question>`), the mean over repeats.

    With several judges the names carry the judge (`judge.trigger@name`), so that none is picked silently.
    """
    table = judgements[judgements["task"].isin(["trigger", "vqa"])].copy()
    many = table.groupby("task")["judge"].transform("nunique") > 1
    question = ("#" + table["question_id"]).where(table["task"] == "vqa", "")
    table["metric"] = "judge." + table["task"] + ("@" + table["judge"]).where(many, "") + question
    grouped = table.groupby(KEY, sort=True, dropna=False)
    result = grouped.agg(value=("value", "mean"), reason=("reason", lambda r: next((x for x in r if x), ""))).reset_index()
    return result.assign(reason=result["reason"].where(result["value"].isna(), ""))


def attach_scores(units: pd.DataFrame, scores: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Units with value_a, value_b, delta (better minus worse direction applied), decision and missing (why there is no delta)."""
    parts = []
    for (family, dimension, setting), own in units.groupby(["family", "dimension", "setting"], sort=True):
        declared = plan.families[str(family)]
        if declared.kind == "preference":
            axis = declared.dimensions[str(dimension)]
            parts.append(_pairs(own, scores, axis.metric_of(str(setting)), axis.higher_is_better, declared.tau_of(str(dimension))))
        else:
            parts.append(_answers(own, scores, declared.judge, declared.threshold))
    return pd.concat(parts, ignore_index=True)


def _looked_up(units: pd.DataFrame, scores: pd.DataFrame, metric: str, side: str) -> pd.DataFrame:
    """Value and reason of one side's clip, in the units' order."""
    questions = ("#" + units["question"]).where(units["question"] != "", "")
    wanted = pd.DataFrame(
        {
            "benchmark": units["benchmark"].to_numpy(),
            "setting": units["setting"].to_numpy(),
            "model_id": units[f"model_{side}"].to_numpy(),
            "clip_id": units[f"clip_{side}"].to_numpy(),
            "metric": (metric + questions).to_numpy(),
        }
    )
    found = wanted.merge(scores, on=KEY, how="left", validate="many_to_one")
    found["reason"] = found["reason"].fillna(str(Reason.MISSING_INPUT))
    return found


def _pairs(units: pd.DataFrame, scores: pd.DataFrame, metric: str | None, higher_is_better: bool, tau: float) -> pd.DataFrame:
    if metric is None:
        return _without(units, str(Reason.NOT_APPLICABLE), "")
    first, second = _looked_up(units, scores, metric, "a"), _looked_up(units, scores, metric, "b")
    delta = (first["value"] - second["value"]).to_numpy() * (1 if higher_is_better else -1)
    missing = first["reason"].where(first["reason"] != "", second["reason"]).to_numpy()
    decision = np.full(len(units), None, dtype=object)
    known = np.isfinite(delta)
    decision[known] = threshold_decision(delta[known], tau)
    return units.assign(
        metric=metric,
        tau=tau,
        value_a=first["value"].to_numpy(),
        value_b=second["value"].to_numpy(),
        delta=delta,
        decision=decision,
        missing=missing,
    )


def _answers(units: pd.DataFrame, scores: pd.DataFrame, judge: str | None, threshold: float) -> pd.DataFrame:
    """The judge's yes or no; of a pair, yes only when it says yes to both clips."""
    if judge is None:
        return _without(units, str(Reason.NOT_APPLICABLE), "")
    first = _looked_up(units, scores, judge, "a")
    paired = (units["clip_b"] != "").to_numpy()
    second = _looked_up(units, scores, judge, "b")
    value_b = second["value"].where(paired).to_numpy()
    value = np.where(paired, np.minimum(first["value"], second["value"]), first["value"])
    missing = np.where((first["reason"] == "") & paired, second["reason"], first["reason"])
    decision = np.full(len(units), None, dtype=object)
    known = np.isfinite(value)
    decision[known] = np.where(value[known] >= threshold, "yes", "no")
    return units.assign(
        metric=judge,
        tau=np.nan,
        value_a=first["value"].to_numpy(),
        value_b=value_b,
        delta=np.nan,
        decision=decision,
        missing=missing,
    )


def _without(units: pd.DataFrame, reason: str, metric: str) -> pd.DataFrame:
    none = pd.Series([None] * len(units), index=units.index, dtype=object)
    empty = {"tau": np.nan, "value_a": np.nan, "value_b": np.nan, "delta": np.nan}
    return units.assign(metric=metric, **empty, decision=none, missing=reason)
