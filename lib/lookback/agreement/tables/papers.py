"""The tidy results in the papers' shape: MBench 3, 5, 6; WRBench 5, 14, 15, 16; MemoBench's agreement."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan

SETTINGS = {"T": "text", "A": "action"}


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
    order = ["human", "object", "environment", "causal"]
    found = trigger["subset"].unique()
    subsets = [*[s for s in order if s in found], *sorted(set(found) - set(order) - {"overall"}), "overall"]
    rows = []
    for subset in subsets:
        own = trigger[trigger["subset"] == subset].set_index("measure")
        row: dict[str, object] = {"subset": subset, "n": int(own["n"].max())}
        for measure in ("accuracy", "precision", "recall", "f1"):
            parts = own.loc[measure] if measure in own.index else dict.fromkeys(("value", "low", "high"), np.nan)
            row |= {measure: parts["value"], f"{measure}_low": parts["low"], f"{measure}_high": parts["high"]}
        rows.append({**row, "reason": _reasons(own[own["reason"] != ""].reset_index())})
    return pd.DataFrame(rows)


def _reasons(rows: pd.DataFrame) -> str:
    return "; ".join(f"{m}: {r}" for m, r in zip(rows["measure"], rows["reason"], strict=True))


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
    """Rows: dimensions; decision kappa, rank rho, hold-out rho, and J, NJ, balanced judgeability where people were asked."""
    columns = [
        "setting",
        "dimension",
        "n",
        "decision_kappa",
        "decision_kappa_low",
        "decision_kappa_high",
        "rho",
        "rho_low",
        "rho_high",
    ]
    columns += ["rho_ceiling", "p_corrected", "claim", "n_holdout", "holdout_rho", "holdout_low", "holdout_high"]
    columns += ["reason", "note", "holdout_reason"]
    table = bridges.reindex(columns=columns).reset_index(drop=True)
    for measure in ("J", "NJ", "balanced"):
        values = pd.Series(dtype=float)
        if not judgeability.empty:
            values = judgeability[judgeability["measure"] == measure].set_index("dimension")["value"]
        table[measure] = table["dimension"].map(values)
    table["judgeability_reason"] = np.where(
        table["balanced"].isna(), "not_applicable: people were not asked, or one answer is absent", ""
    )
    return table


def memobench_agreement(vqa: pd.DataFrame) -> pd.DataFrame:
    """Rows: scenes and all; columns: dimensions and all; cells: share of questions on which people's majority equals the answer."""
    wide = vqa.pivot(index="scene", columns="dimension", values="agreement")
    scenes = [*[s for s in wide.index if s != "all"], "all"]
    dimensions = [*[d for d in wide.columns if d != "all"], *(["all"] if "all" in wide else [])]
    table = wide.loc[scenes, dimensions]
    counts = vqa[vqa["dimension"] != "all"].groupby("scene")["n"].sum()
    return table.assign(n=counts.reindex(scenes).fillna(0).astype(int)).rename_axis(columns=None).reset_index()
