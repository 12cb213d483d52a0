"""MBench's tables of human agreement: 3 (metric against people), 5 (annotation statistics), 6 (trigger judge)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookback.agreement import reading
from lookback.agreement.analyse import Analysis
from lookback.agreement.plan import Plan
from lookback.agreement.tables.metric import trigger_table

SETTINGS = {"T": "text", "A": "action"}
COUNTS = ["true_yes", "false_yes", "false_no", "true_no"]


def add_tables(analysis: Analysis) -> None:
    """Add the tables for which there are results."""
    votes, plan, tables = analysis.votes, analysis.plan, analysis.tables
    if "ranking" in tables and analysis.has("mbench", "preference"):
        ranking = tables["ranking"][tables["ranking"]["benchmark"] == "mbench"]
        title = "MBench table 3: metric-human correlation"
        table, unranked = mbench_3(ranking, plan), analysis.left_out("preference", benchmark="mbench")
        analysis.add("mbench_3", title, "model", table, lambda: reading.read_ranking(ranking, plan) + unranked)
    if analysis.has("mbench"):
        counts = mbench_5(votes)
        analysis.add("mbench_5", "MBench table 5: annotation statistics", "vote", counts, lambda: reading.read_counts(counts))
    if "trigger" in tables and analysis.has("mbench", "trigger"):
        trigger = trigger_table(analysis.units[analysis.units["benchmark"] == "mbench"], plan)
        if trigger.empty:
            return
        title = "MBench table 6: trigger judge against people"
        left_out = analysis.left_out("trigger", benchmark="mbench")
        analysis.add("mbench_6", title, "clip", mbench_6(trigger), lambda: reading.read_trigger(trigger) + left_out)
        beside = mbench_6_judge(trigger)
        title = "Beside MBench table 6: counts, specificity, kappa and AC1"
        analysis.add("mbench_6_judge", title, "clip", beside, lambda: reading.each_judge(beside, read_judge) + left_out)


def mbench_3(ranking: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Rows: dimensions in the plan's order; per setting rho, tau, models, pairs, corrected p, claim; NaN and a reason for "-"."""
    own = ranking[ranking["benchmark"] == "mbench"]
    declared = [d for f in plan.families.values() if f.benchmark == "mbench" and f.kind == "preference" for d in f.dimensions]
    table = pd.DataFrame({"dimension": list(dict.fromkeys(declared))})
    for setting in sorted(own["setting"].unique(), reverse=True):
        part = own[own["setting"] == setting].set_index("dimension")
        name = SETTINGS.get(setting, setting)
        chosen = part[["rho", "rho_low", "rho_high", "tau", "n_models", "n_pairs", "p_corrected", "claim", "reason", "note"]]
        chosen = chosen.rename(columns={"rho_low": "low", "rho_high": "high"}).add_prefix(f"{name}_")
        table = table.merge(chosen, left_on="dimension", right_index=True, how="left")
        for count in ("n_models", "n_pairs"):
            table[f"{name}_{count}"] = table[f"{name}_{count}"].astype("Int64")
        absent = table[f"{name}_rho"].isna() & (table[f"{name}_reason"].fillna("") == "")
        table.loc[absent, f"{name}_reason"] = "not_applicable: no votes or no metric in this setting"
    return table


def mbench_5(votes: pd.DataFrame) -> pd.DataFrame:
    """Rows: task and setting; records (votes), annotators, models, dimensions; a total row at the end."""
    own = votes[votes["benchmark"] == "mbench"]
    rows = []
    for (task, setting), part in own.groupby(["task", "setting"], sort=True):
        rows.append({"task": task, "setting": SETTINGS.get(str(setting), setting), **_counts(part)})
    return pd.DataFrame([*rows, {"task": "all", "setting": "all", **_counts(own)}])


def _counts(votes: pd.DataFrame) -> dict[str, int]:
    models = set(votes["model_a"]) | set(votes["model_b"]) - {""}
    return {
        "records": len(votes),
        "annotators": votes["annotator"].nunique(),
        "models": len(models),
        "dimensions": votes["dimension"].nunique(),
        "simulated": int(votes["simulated"].sum()),
    }


def mbench_6(trigger: pd.DataFrame) -> pd.DataFrame:
    """Rows: subsets and overall; accuracy, precision, recall, F1, each with its interval."""
    return _by_subset(trigger, [], ["accuracy", "precision", "recall", "f1"])


def mbench_6_judge(trigger: pd.DataFrame) -> pd.DataFrame:
    """Rows: subsets and overall; what the paper does not print: the four counts, specificity, Cohen's kappa and AC1."""
    return _by_subset(trigger, COUNTS, ["specificity", "kappa", "ac1"])


def read_judge(table: pd.DataFrame) -> str:
    """Where the judge says yes and people no, and its agreement with these annotators."""
    row = table.set_index("subset").loc["overall"]
    if pd.isna(row["true_yes"]):
        return f"The judge's answers cannot be counted: {row['reason']}."
    text = f"Of {row['n']} clips the judge wrongly says yes to {row['false_yes']} and wrongly no to {row['false_no']}."
    named = {"specificity": "Specificity", "kappa": "Cohen's kappa", "ac1": "AC1"}
    parts = [
        f"{words} {reading.number(row[m])} ({reading.interval(row[f'{m}_low'], row[f'{m}_high'])})" for m, words in named.items()
    ]
    text += f" {', '.join(parts)}."
    return f"{text} Where most clips are triggered, accuracy and AC1 can be high by chance; kappa corrects for that."


def _by_subset(trigger: pd.DataFrame, counts: list[str], measures: list[str]) -> pd.DataFrame:
    """Rows: subsets in the paper's order and overall; counts, the measures with their intervals, and why one is missing.

    Families and settings have rows of their own, where there are several.
    """
    order = ["human", "object", "environment", "causal"]
    rows = []
    for named, judged in reading.judged_parts(trigger):
        found = judged["subset"].unique()
        for subset in [*[s for s in order if s in found], *sorted(set(found) - set(order) - {"overall"}), "overall"]:
            own = judged[judged["subset"] == subset].set_index("measure")
            row: dict[str, object] = {**named, "subset": subset, "n": int(own["n"].max())}
            row |= {count: own["value"].get(count, pd.NA) for count in counts}
            for measure in measures:
                parts = own.loc[measure] if measure in own.index else dict.fromkeys(("value", "low", "high"), np.nan)
                row |= {measure: parts["value"], f"{measure}_low": parts["low"], f"{measure}_high": parts["high"]}
            reasons = own[own.index.isin([*measures, "all"]) & (own["reason"] != "")]
            rows.append({**row, "reason": _reasons(reasons.reset_index())})
    return pd.DataFrame(rows).astype(dict.fromkeys(counts, "Int64"))


def _reasons(rows: pd.DataFrame) -> str:
    return "; ".join(f"{m}: {r}" for m, r in zip(rows["measure"], rows["reason"], strict=True))
