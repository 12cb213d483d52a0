"""Agreement among people: coefficients per dimension."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lookback.agreement.claims import CONTRADICTED, DEALT, OPEN, SUPPORTED, UNTESTED
from lookback.agreement.plan import Plan
from lookback.agreement.votes import annotator_matrix, both_orders, clusters_of, packed_matrix
from lookback.errors import NotScorable
from lookback.stats import (
    Estimate,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    gwet_other_raters,
    krippendorff_alpha,
    percent_agreement,
    rater_vs_majority,
    shuffled_alphas,
)
from lookback.stats.intervals import number
from lookback.stats.jackknife import FEWEST_ANNOTATORS

GROUP = ["family", "role", "benchmark", "setting", "dimension"]
ROUNDING = 1e-9


def agreement_table(votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Per family, setting and dimension: percent agreement, AC1, AC2, Fleiss' kappa, Krippendorff's alpha with intervals.

    `prevalence` is the share of the most frequent answer. `claim`: whether these annotators agree more than by chance, by the side
    of zero on which alpha's interval at the plan's level lies; below zero, and of pairs in both orders above it too, votes dealt
    anew must not reach alpha. AC1 and AC2 do not say so: where one answer prevails they are high for unrelated votes.
    `ac1_others_low` and `_high` (of ratings `ac2_others`) hold for other annotators like these, from five on.
    """
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
    answers = matrix.stack().value_counts()
    row["prevalence"] = answers.max() / answers.sum()
    named = annotator_matrix(votes).loc[matrix.index[:n_items]]
    swapped = votes.pivot(index="item", columns="annotator", values="swapped").loc[named.index].eq(True)
    row["claim"], reached = _claim(matrix, named, swapped, clusters, plan, family)
    if reached:
        row["alpha_low"], row["alpha_high"] = min(row["alpha_low"], 0.0), max(row["alpha_high"], 0.0)
        notes.append(f"alpha: the interval is extended to 0, since {DEALT} give such a value, too")
    if row["n_annotators"] >= FEWEST_ANNOTATORS:
        named = both_orders(named) if plan.turns(family) else named
        others = partial(gwet_other_raters, named, categories, **common)
        rated = plan.families[family].kind == "rating"
        name = "ac2_others" if rated else "ac1_others"
        _put(row, reasons, notes, name, lambda: others(weights="ordinal" if rated else "nominal"))
        del row[name]  # the value is that of these annotators
    _put(row, reasons, notes, "rater_vs_majority", lambda: rater_vs_majority(matrix, categories, **common))
    row |= {"reason": "; ".join(reasons), "note": "; ".join(notes)}
    return row


def _claim(
    matrix: pd.DataFrame, named: pd.DataFrame, swapped: pd.DataFrame, clusters: np.ndarray, plan: Plan, family: str
) -> tuple[str, bool]:
    """The claim, and whether it is open because votes dealt anew reach such an alpha."""
    categories, level = plan.categories(family), plan.scales[plan.families[family].scale].level
    drawn = plan.drawn | {"confidence": 1 - plan.level}
    try:
        alpha = krippendorff_alpha(matrix, categories, level=level, clusters=clusters, **drawn)
    except NotScorable:
        return UNTESTED, False
    if alpha.low is None or alpha.high is None:
        return UNTESTED, False
    if alpha.low <= 0 <= alpha.high:
        return OPEN, False
    side, claim = (1, SUPPORTED) if alpha.low > 0 else (-1, CONTRADICTED)
    turns = plan.turns(family)
    if claim == SUPPORTED and not turns:
        return claim, False
    draws = max(399, int(4 / plan.level))  # so many that none of them reaching alpha is below the level
    dealt = shuffled_alphas(named, categories, level=level, swapped=swapped if turns else None, draws=draws, seed=plan.seed)
    reached = (1 + (side * dealt >= side * alpha.value - ROUNDING).sum()) / (1 + draws) >= plan.level / 2
    return (OPEN, True) if reached else (claim, False)


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
