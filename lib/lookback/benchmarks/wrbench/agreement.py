"""WRBench's tables of human calibration: 5 (snapshot), 14 (registry), 15 (agreement), 16 (bridge to the evaluator)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookback.agreement import reading
from lookback.agreement.analyse import Analysis
from lookback.agreement.plan import Plan
from lookback.agreement.tables.metric import judgeability_table


def add_tables(analysis: Analysis) -> None:
    """Add the tables for which there are results."""
    if analysis.has("wrbench"):
        registry = wrbench_14(analysis.votes, analysis.plan)
        title = "WRBench table 14: annotation registry"
        analysis.add("wrbench_14", title, "vote", registry, lambda: reading.read_counts(registry))
    if "agreement" in analysis.tables and analysis.has("wrbench", "preference"):
        _calibration(analysis)


def _calibration(analysis: Analysis) -> None:
    plan, tables, empty = analysis.plan, analysis.tables, pd.DataFrame(columns=["benchmark"])
    people = tables["agreement"][
        (tables["agreement"]["benchmark"] == "wrbench") & (tables["agreement"]["alpha_level"] != "nominal")
    ]
    main = people[people["role"] == "main"]
    bridges = tables.get("bridge", empty)
    bridges = bridges[bridges["benchmark"] == "wrbench"]
    people, main, bridges = (_in_plan_order(table, plan) for table in (people, main, bridges))
    snapshot, coefficients = wrbench_5(main, bridges), wrbench_15(people)
    left_out = analysis.left_out("preference", benchmark="wrbench")
    of_people = analysis.left_out("preference", benchmark="wrbench", people_alone=True)

    def both() -> str:
        return f"{reading.read_agreement(main, plan)} {reading.read_bridge(bridges, plan)}{left_out}"

    analysis.add("wrbench_5", "WRBench table 5: human calibration snapshot", "pair", snapshot, both)
    title = "WRBench table 15: human agreement by dimension"
    analysis.add("wrbench_15", title, "pair", coefficients, lambda: reading.read_agreement(people, plan) + of_people)
    if not bridges.empty:
        own = analysis.units[analysis.units["benchmark"] == "wrbench"]
        evidence = judgeability_table(own, plan) if "judgeability" in tables else pd.DataFrame()
        table = wrbench_16(bridges, evidence)
        tail = "" if evidence.empty else " " + reading.read_judgeability(evidence)
        title = "WRBench table 16: world-state evaluator-human bridge"
        analysis.add("wrbench_16", title, "pair", table, lambda: reading.read_bridge(bridges, plan) + tail + left_out)


def _in_plan_order(table: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Rows in the order in which the plan declares the dimensions, which is the papers' order."""
    if table.empty:
        return table
    declared = list(dict.fromkeys(name for family in plan.families.values() for name in family.dimensions))
    return table.sort_values("dimension", key=lambda names: names.map(declared.index), kind="stable", ignore_index=True)


def wrbench_5(agreement: pd.DataFrame, bridges: pd.DataFrame) -> pd.DataFrame:
    """Rows: dimensions; AC1 on the main set, bridge N, reversals (opposite-direction decisions)."""
    table = agreement[["setting", "dimension", "ac1", "ac1_low", "ac1_high", "n_items"]].rename(columns={"n_items": "pairs"})
    if bridges.empty:
        return table.assign(bridge_n=0, reversals=pd.NA, reversal_high=float("nan"), reason="no bridge computed").reset_index(
            drop=True
        )
    chosen = bridges.reindex(columns=["setting", "dimension", "n", "reversals", "reversal_rate_high", "reason", "note"])
    chosen = chosen.rename(columns={"n": "bridge_n", "reversal_rate_high": "reversal_high"})
    merged = table.merge(chosen, on=["setting", "dimension"], how="left")
    return merged.assign(bridge_n=merged["bridge_n"].fillna(0).astype(int), reversals=merged["reversals"].astype("Int64"))


def wrbench_14(votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Rows: annotation families; role, rows (votes), items, labels used with counts, use."""
    rows = []
    for name, family in plan.families.items():
        own = votes[votes["family"] == name]
        if family.benchmark != "wrbench" or own.empty:
            continue
        used = own["label"].astype(str).value_counts()
        labels = ", ".join(f"{label}: {used.get(label, 0)}" for label in map(str, plan.categories(name)))
        named = {"family": name, "role": family.role, "rows": len(own), "items": own["item"].nunique()}
        rows.append({**named, "labels": labels, "simulated": int(own["simulated"].sum()), "use": family.use})
    return pd.DataFrame(rows)


def wrbench_15(agreement: pd.DataFrame) -> pd.DataFrame:
    """Rows: dimensions; Fleiss' kappa, Krippendorff's alpha and AC1 for the main and the supplementary set."""
    keys = ["setting", "dimension"]
    table = agreement[keys].drop_duplicates().reset_index(drop=True)
    for role in ("main", "supplementary"):
        columns = ["n_items", "kappa", "alpha", "ac1", "ac1_low", "ac1_high", "reason"]
        part = agreement.loc[agreement["role"] == role, [*keys, *columns]]
        table = table.merge(part.rename(columns={c: f"{role}_{c}" for c in columns}), on=keys, how="left")
        absent = table[f"{role}_n_items"].isna()
        table[f"{role}_n_items"] = table[f"{role}_n_items"].fillna(0).astype(int)
        table.loc[absent, f"{role}_reason"] = "not_applicable: no votes in this set"
    return table


def wrbench_16(bridges: pd.DataFrame, judgeability: pd.DataFrame) -> pd.DataFrame:
    """Rows: dimensions; decision kappa, rank rho, hold-out rho, and J, NJ, balanced judgeability where people were asked.

    Where several families ask about judgeability, every one has its row.
    """
    columns = [
        "setting",
        "dimension",
        "n",
        "decision_kappa",
        "decision_kappa_low",
        "decision_kappa_high",
        "pooled_rho",
        "pooled_rho_low",
        "pooled_rho_high",
        "within_rho",
        "within_rho_low",
        "within_rho_high",
    ]
    columns += ["tie_ceiling", "p_corrected", "claim", "n_holdout", "holdout_rho", "holdout_rho_low", "holdout_rho_high"]
    columns += ["reason", "note", "pooled_reason", "within_reason", "holdout_reason"]
    table = bridges.reindex(columns=columns).reset_index(drop=True)
    table.columns = table.columns.str.replace("pooled_rho", "rho")
    if judgeability.empty:
        table = table.assign(J=np.nan, NJ=np.nan, balanced=np.nan)
    else:
        keys = [name for name in ("family", "setting", "dimension") if name in judgeability]
        wide = judgeability.pivot(index=keys, columns="measure", values="value").reindex(columns=["J", "NJ", "balanced"])
        table = table.merge(wide.reset_index(), on=[name for name in keys if name != "family"], how="left")
    table["judgeability_reason"] = np.where(
        table["balanced"].isna(), "not_applicable: people were not asked, or one answer is absent", ""
    )
    return table
