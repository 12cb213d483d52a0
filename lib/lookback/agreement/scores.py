"""Automatic scores beside human labels: score differences of pairs, judges' answers for single clips.

`scores` is the tidy items table: benchmark, setting, model_id, clip_id, metric, value, reason (a value or a reason, never both).
A metric may carry a question's id after "#", as dimensions do.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.errors import ContractError, Reason, UsageError
from lookback.stats import threshold_decision

KEY = ["benchmark", "setting", "model_id", "clip_id", "metric"]


def read_scores(path: str | Path) -> pd.DataFrame:
    """Scores from a .parquet, .csv or .jsonl file with the tidy columns."""
    source = Path(path)
    if not source.is_file():
        raise UsageError(f"There is no scores file {source}")
    texts = dict.fromkeys((*KEY, "reason", "phase", "variant"), str)
    if source.suffix == ".parquet":
        return pd.read_parquet(source)
    if source.suffix == ".csv":
        return pd.read_csv(source, dtype=texts, keep_default_na=False, na_values={"value": ["", "nan", "NaN"]})
    if source.suffix in {".jsonl", ".ndjson"}:
        return pd.read_json(source, lines=True, dtype=texts)
    raise UsageError(f"{source.name}: unknown kind of scores file; use .parquet, .csv or .jsonl")


def check_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """The tidy scores, one row per key; metrics scored in several variants or phases must be narrowed to one first."""
    lacking = [c for c in (*KEY, "value", "reason") if c not in scores]
    if lacking:
        raise ContractError(f"The scores lack the column(s) {', '.join(lacking)}; they are the items table of a run")
    # rows without a phase are about the whole clip; scores that come from judges have no such column
    whole = scores[scores["phase"].fillna("") == ""] if "phase" in scores else scores
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
    return table.sort_values(KEY, kind="stable", ignore_index=True)


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
    """Units with metric, tau, value_a, value_b, delta (positive: A better), decision and missing (why there is no decision).

    The decision is the metric's sign outside the tie band (preferences) or the judge's yes/no (of a pair: yes to both clips).
    """
    units = units.merge(_declared(units, plan), on=["family", "dimension", "setting"], how="left", validate="many_to_one")
    first, second = _looked_up(units, scores, "a"), _looked_up(units, scores, "b")
    paired = (units["clip_b"] != "").to_numpy()
    preference = (units["kind"] == "preference").to_numpy()
    value_a, value_b = first["value"].to_numpy(dtype=float), second["value"].where(paired).to_numpy(dtype=float)
    delta = np.where(preference, (value_a - value_b) * units["direction"].to_numpy(dtype=float), np.nan)
    answer = np.where(paired, np.minimum(value_a, value_b), value_a)
    missing = np.where((first["reason"] == "") & paired, second["reason"], first["reason"])
    missing = np.where(units["metric"] == "", str(Reason.NOT_APPLICABLE), missing)
    decision = np.full(len(units), None, dtype=object)
    signed, judged = preference & np.isfinite(delta), ~preference & np.isfinite(answer)
    band = units["tau"].to_numpy(dtype=float)
    decision[signed] = threshold_decision(delta[signed], band[signed])
    decision[judged] = np.where(answer[judged] >= units["threshold"].to_numpy(dtype=float)[judged], "yes", "no")
    found = {"value_a": value_a, "value_b": value_b, "delta": delta, "decision": decision, "missing": missing}
    return units.drop(columns=["direction", "threshold"]).assign(**found)


def _declared(units: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """What the plan says about each family, dimension and setting: the score to look up, its direction, tie band and threshold."""
    table = units[["family", "dimension", "setting"]].drop_duplicates().reset_index(drop=True)
    rows = []
    for row in table.itertuples():
        family = plan.families[str(row.family)]
        axis = family.dimensions[str(row.dimension)]
        preference = family.kind == "preference"
        metric = axis.metric_of(str(row.setting)) if preference else family.judge
        tau = family.tau_of(str(row.dimension)) if preference else np.nan
        direction = 1 if axis.higher_is_better else -1
        rows.append({"metric": metric or "", "tau": tau, "direction": direction, "threshold": family.threshold})
    return pd.concat([table, pd.DataFrame(rows, index=table.index)], axis=1)


def _looked_up(units: pd.DataFrame, scores: pd.DataFrame, side: str) -> pd.DataFrame:
    """Value and reason of one side's clip, in the units' order."""
    questions = ("#" + units["question"]).where(units["question"] != "", "")
    wanted = units[["benchmark", "setting"]].assign(
        model_id=units[f"model_{side}"], clip_id=units[f"clip_{side}"], metric=units["metric"] + questions
    )
    found = wanted.merge(scores, on=KEY, how="left", validate="many_to_one")
    found["reason"] = found["reason"].fillna(str(Reason.MISSING_INPUT))
    return found
