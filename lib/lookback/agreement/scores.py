"""Join automatic scores to human labels: score differences for pairs, judges' answers for single clips.

`scores` is the tidy items table: benchmark, setting, model_id, clip_id, metric, value, reason (either a value or a reason).
A metric may have a question's id after "#", like a dimension.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from lookback.agreement.files import read_csv_texts, read_json_lines, read_parquet_file
from lookback.agreement.plan import GROUND_TRUTH, Plan
from lookback.errors import ContractError, Reason, UsageError, brief
from lookback.judging.verdicts import Verdict, clip_verdicts
from lookback.stats import threshold_decision
from lookback.stats.design import without_rounding

CLIP = ["benchmark", "setting", "model_id", "clip_id"]
KEY = [*CLIP, "metric"]
JUDGED_TASKS = ("trigger", "vqa", "vqa_ground_truth")
DECIDED = {"yes": 1.0, "no": 0.0}


def read_scores(path: str | Path) -> pd.DataFrame:
    """Scores from a .parquet, .csv or .jsonl file with the tidy columns."""
    source = Path(path)
    if not source.is_file():
        raise UsageError(f"There is no scores file {source}")
    table = _read(source)
    if table.empty:
        raise ContractError(f"{source.name} holds no scores; leave --scores out to analyse the people alone")
    return table.assign(value=_numbers(table["value"], source.name)) if "value" in table else table


def _read(source: Path) -> pd.DataFrame:
    if source.suffix == ".parquet":
        return read_parquet_file(source)
    if source.suffix == ".csv":
        return read_csv_texts(source)
    if source.suffix in {".jsonl", ".ndjson"}:
        table = pd.DataFrame(read_json_lines(source, "score"))
        return table.assign(**{name: table[name].map(_word) for name in (*KEY, "reason", "phase", "variant") if name in table})
    raise UsageError(f"{source.name}: unknown kind of scores file; use .parquet, .csv or .jsonl")


def _word(value: object) -> str:
    return "" if value is None else str(value)


def _numbers(values: pd.Series, where: str) -> pd.Series:
    """Values as numbers; empty and "nan" are missing, anything else that is not a finite number is an error."""
    empty = values.isna() | values.astype(str).str.strip().str.lower().isin(["", "nan"])
    numbers = pd.to_numeric(values.where(~empty), errors="coerce").astype(float)
    bad = ~empty & ~np.isfinite(numbers)
    if bad.any():
        row = int(bad.to_numpy().argmax())
        advice = "write a number, or leave it empty and give a reason"
        raise ContractError(f"{where}: score {row + 1} has the value {brief(values.iloc[row])}, which is no number; {advice}")
    return numbers


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
    """A judge's yes (1) or no (0) as scores named `judge.<task>` (VQA: `judge.vqa#<question>`), decided as the gate decides.

    `judge.vqa_ground_truth` holds the answers on the ground-truth videos, under the model name "ground_truth". With several
    judges the names contain the judge (`judge.trigger@name`), so that none is chosen silently.
    """
    table = judgements[judgements["task"].isin(JUDGED_TASKS)]
    many = table.groupby("task")["judge"].nunique() > 1
    rows = []
    for (task, judge), own in table.groupby(["task", "judge"], sort=True):
        name = f"judge.{task}" + (f"@{judge}" if many[task] else "")
        for clip, tasks in clip_verdicts(own, {str(task): str(judge)}).items():
            for question, verdict in tasks[str(task)].items():
                metric = name if task == "trigger" else f"{name}#{question}"
                rows.append({**dict(zip(CLIP, clip, strict=True)), "metric": metric, **_decided(verdict)})
    result = pd.DataFrame(rows, columns=[*KEY, "value", "reason"])
    truth = result["metric"].str.startswith("judge.vqa_ground_truth")
    return result.assign(model_id=result["model_id"].where(~truth, GROUND_TRUTH)).sort_values(KEY, ignore_index=True)


def _decided(verdict: Verdict) -> dict[str, object]:
    if verdict.answer in DECIDED:
        return {"value": DECIDED[verdict.answer], "reason": ""}
    return {"value": np.nan, "reason": str(verdict.reason or Reason.JUDGE_UNPARSED)}


def attach_scores(units: pd.DataFrame, scores: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Units with metric, tau, value_a, value_b, delta (positive: A better), decision and missing (why there is no decision).

    The decision is the metric's sign outside the tie band (preferences), the judge's yes/no (of a pair: yes to both clips), or,
    for ratings, the number compared with them: the score, or the difference of a pair's scores, turned so that more is better.
    """
    units = units.merge(_declared(units, plan), on=["family", "dimension", "setting"], how="left", validate="many_to_one")
    first, second = _looked_up(units, scores, "a"), _looked_up(units, scores, "b")
    paired = (units["clip_b"] != "").to_numpy()
    preference, rating = ((units["kind"] == kind).to_numpy() for kind in ("preference", "rating"))
    direction = units["direction"].to_numpy(dtype=float)
    value_a, value_b = first["value"].to_numpy(dtype=float), second["value"].where(paired).to_numpy(dtype=float)
    less = value_a - value_b
    for rows in units.groupby("metric").indices.values():
        less[rows] = without_rounding(less[rows], [value_a[rows], value_b[rows]])
    delta = np.where(preference | (rating & paired), less * direction, np.nan)
    answer = np.where(paired, np.minimum(value_a, value_b), value_a)
    missing = np.where((first["reason"] == "") & paired, second["reason"], first["reason"])
    missing = np.where(units["metric"] == "", str(Reason.NOT_APPLICABLE), missing)
    decision = np.full(len(units), None, dtype=object)
    signed, judged = preference & np.isfinite(delta), ~preference & ~rating & np.isfinite(answer)
    compared = np.where(paired, delta, value_a * direction)
    scored = rating & np.isfinite(compared)
    decision[scored] = compared[scored]
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
        preference = family.kind in ("preference", "rating")
        metric = axis.metric_of(str(row.setting)) if preference else family.judge
        tau = family.tau_of(str(row.dimension)) if preference else np.nan
        direction = 1 if axis.higher_is_better else -1
        rows.append({"metric": metric or "", "tau": tau, "direction": direction, "threshold": family.threshold})
    return pd.concat([table, pd.DataFrame(rows, index=table.index)], axis=1)


def wanted_scores(units: pd.DataFrame, side: str) -> pd.DataFrame:
    """The keys of the scores that units ask for on one side, in the units' order."""
    questions = ("#" + units["question"]).where(units["question"] != "", "")
    return units[["benchmark", "setting"]].assign(
        model_id=units[f"model_{side}"], clip_id=units[f"clip_{side}"], metric=units["metric"] + questions
    )


def _looked_up(units: pd.DataFrame, scores: pd.DataFrame, side: str) -> pd.DataFrame:
    """Value and reason of one side's clip, in the units' order."""
    found = wanted_scores(units, side).merge(scores, on=KEY, how="left", validate="many_to_one")
    found["reason"] = found["reason"].fillna(str(Reason.MISSING_INPUT))
    return found
