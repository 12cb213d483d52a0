"""Agreement among people: coefficients per dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.agreement.votes import both_orders, clusters_of, packed_matrix
from lookback.errors import NotScorable
from lookback.stats import (
    Estimate,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    krippendorff_alpha,
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
