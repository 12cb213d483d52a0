"""Agreement among people: coefficients per dimension, and the quality of each annotator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.agreement.votes import annotator_matrix, both_orders, clusters_of, packed_matrix
from lookback.errors import NotScorable
from lookback.stats import (
    Estimate,
    dawid_skene,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    krippendorff_alpha,
    leave_one_annotator_out,
    percent_agreement,
    rater_vs_majority,
)
from lookback.stats.intervals import number

GROUP = ["family", "role", "benchmark", "setting", "dimension"]


def agreement_table(votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Per family, setting and dimension: percent agreement, AC1, AC2, Fleiss' kappa, Krippendorff's alpha with intervals."""
    rows = []
    for keys, own in votes.groupby(GROUP, sort=True):
        family = str(keys[0])
        rows.append(dict(zip(GROUP, keys, strict=True)) | _coefficients(own, plan, family))
    return pd.DataFrame(rows)


def _coefficients(votes: pd.DataFrame, plan: Plan, family: str) -> dict[str, Any]:
    matrix = packed_matrix(votes)
    n_items = len(matrix)
    if plan.turns(family):
        matrix = both_orders(matrix)
    categories = plan.categories(family)
    level = plan.scales[plan.families[family].scale].level
    clusters = clusters_of(votes, matrix.index, plan.clusters.agreement)
    common: dict[str, Any] = {"clusters": clusters, "confidence": plan.confidence}
    drawn: dict[str, Any] = {"clusters": clusters, **plan.drawn}
    row: dict[str, Any] = {
        "n_items": n_items,
        "n_votes": len(votes),
        "n_annotators": votes["annotator"].nunique(),
        "n_simulated": int(votes["simulated"].sum()),
    }
    reasons: list[str] = []
    notes: list[str] = []
    _put(row, reasons, notes, "percent", lambda: percent_agreement(matrix, categories, **common))
    _put(row, reasons, notes, "ac1", lambda: gwet_ac1(matrix, categories, **common))
    if level != "nominal":
        _put(row, reasons, notes, "ac2", lambda: gwet_ac2(matrix, categories, weights="ordinal", **common))
    _put(row, reasons, notes, "kappa", lambda: fleiss_kappa(matrix, categories, **common))
    _put(row, reasons, notes, "alpha", lambda: krippendorff_alpha(matrix, categories, level=level, **drawn))
    row["alpha_level"] = level
    _put(row, reasons, notes, "rater_vs_majority", lambda: rater_vs_majority(matrix, categories, **common))
    row |= {"reason": "; ".join(reasons), "note": "; ".join(notes)}
    return row


def _put(row: dict[str, Any], reasons: list[str], notes: list[str], name: str, compute: Callable[[], Estimate]) -> None:
    try:
        estimate = compute()
    except NotScorable as missing:
        row |= {name: np.nan, f"{name}_low": np.nan, f"{name}_high": np.nan}
        reasons.append(f"{name}: {missing}")
        return
    row |= {name: estimate.value, f"{name}_low": number(estimate.low), f"{name}_high": number(estimate.high)}
    if estimate.note:
        notes.append(f"{name}: {estimate.note}")


def annotators_table(votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Per family and annotator: votes, agreement with the others, AC1 without them, Dawid-Skene accuracy, circular triads."""
    parts = []
    for family, own in votes.groupby("family", sort=True):
        categories = plan.categories(str(family))
        matrix = annotator_matrix(own)
        turned = plan.turns(str(family))
        try:
            statistic = _symmetric_ac1 if turned else gwet_ac1
            clusters = clusters_of(own, matrix.index, plan.clusters.agreement)
            table = leave_one_annotator_out(matrix, categories, statistic=statistic, clusters=clusters, confidence=plan.confidence)
            table = table.rename(columns={"without": "ac1_without", "change": "ac1_change"})
            fit = dawid_skene(both_orders(matrix) if turned else matrix, categories)
            quality = fit.accuracy[["annotator", "accuracy"]].rename(columns={"accuracy": "dawid_skene"})
            table = table.merge(quality, on="annotator")
            if not fit.converged:
                unsettled = f"dawid_skene: no maximum after {fit.iterations} steps"
                table["reason"] = table["reason"].map(lambda text, why=unsettled: "; ".join(filter(None, (text, why))))
        except NotScorable as missing:
            counts = own["annotator"].value_counts().sort_index()
            table = pd.DataFrame({"annotator": counts.index, "n_votes": counts.to_numpy(), "n_compared": 0})
            empty = dict.fromkeys(("agreement", "low", "high", "ac1_without", "ac1_change", "dawid_skene"), np.nan)
            table = table.assign(**empty, reason=str(missing))
        cycles = circular_triads(own) if plan.families[str(family)].kind == "preference" else pd.Series(dtype=int)
        table["circular_triads"] = table["annotator"].map(cycles).fillna(0).astype(int)
        parts.append(table.assign(family=family))
    result = pd.concat(parts, ignore_index=True)
    return result[["family", *[c for c in result if c not in ("family", "reason")], "reason"]]


def _symmetric_ac1(labels: np.ndarray, categories: list[Any]) -> Estimate:
    return gwet_ac1(both_orders(pd.DataFrame(labels)), categories)


def circular_triads(votes: pd.DataFrame) -> pd.Series:
    """Per annotator, how often A beats B, B beats C and C beats A in one scene and dimension (Kendall & Babington Smith 1940)."""
    judged = votes[votes["label"] != 0]
    won = judged["label"] == 1
    group = ["annotator", "setting", "dimension", "scene"]
    edges = judged[group].assign(
        winner=judged["model_a"].where(won, judged["model_b"]), loser=judged["model_b"].where(won, judged["model_a"])
    )
    edges = edges.drop_duplicates()
    first = edges.rename(columns={"winner": "x", "loser": "y"})
    second = edges.rename(columns={"winner": "y", "loser": "z"})
    third = edges.rename(columns={"winner": "z", "loser": "x"})
    cycles = first.merge(second, on=[*group, "y"]).merge(third, on=[*group, "x", "z"])
    return (cycles.groupby("annotator").size() // 3).astype(int)
