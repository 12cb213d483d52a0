"""Ratings on a scale: how reliable they are, what the models got, and whether a metric follows them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.agreement.reading import interval, number, row_names
from lookback.agreement.tables.metric import GROUP, associations, claim_primary, usable
from lookback.agreement.votes import annotator_matrix, both_orders, clusters_of
from lookback.errors import NotScorable
from lookback.names import listing
from lookback.stats.ceiling import noise_ceiling
from lookback.stats.intervals import measure_row
from lookback.stats.rating_scales import icc, kendall

CEILING = ("rho_ceiling", "rho_ceiling_low", "rho_ceiling_high")


def reliability_table(votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Per family, setting and dimension of ratings: ICC(2,1) and ICC(2,k), the form named, intervals over the plan's clusters.

    Rated pairs enter in both orders where the plan is symmetric, so that it does not matter which clip is called A.
    """
    rows = []
    for keys, own in votes[votes["kind"] == "rating"].groupby(GROUP, sort=True):
        matrix = annotator_matrix(own).astype(float)
        row: dict[str, Any] = {**dict(zip(GROUP, keys, strict=True)), "n_items": len(matrix), "n_annotators": matrix.shape[1]}
        if plan.turns(str(keys[0])):
            matrix = both_orders(matrix)
        clusters = clusters_of(own, matrix.index, plan.clusters.agreement)
        try:
            found = icc(matrix, clusters=clusters, confidence=plan.confidence)
        except NotScorable as missing:
            empty = dict.fromkeys(("icc_1", "icc_1_low", "icc_1_high", "icc_k", "icc_k_low", "icc_k_high", "k"), np.nan)
            rows.append({**row, **empty, "form": "", "method": "", "reason": str(missing), "note": ""})
            continue
        for name, form in (("icc_1", found.single), ("icc_k", found.average)):
            row |= {name: form.value, f"{name}_low": form.low, f"{name}_high": form.high}
        row |= {"k": found.k, "form": f"{found.single.name}; {found.average.name}", "method": found.single.method}
        rows.append({**row, "reason": "", "note": found.single.note})
    table = pd.DataFrame(rows)
    bounds = [name for name in table if name.startswith("icc_")]
    return table.astype(dict.fromkeys(bounds, float))


def rating_metric_table(units: pd.DataFrame, votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Per family, setting and dimension with a metric: the associations of the score with the mean rating, and Kendall's tau-b.

    `rho_ceiling` is the estimated pooled rho of a perfect score with the same means; `rho_ceiling_note` says why it or its interval
    is missing. Scores where less is better are turned first, so agreement is always positive.
    """
    rows = []
    for keys, own in units[units["kind"] == "rating"].groupby(GROUP, sort=True):
        metric = own["metric"].iloc[0]
        if metric == "":
            continue
        both = usable(own, "rating")
        score, rating = both["decision"].to_numpy(dtype=float), both["label"].to_numpy(dtype=float)
        row: dict[str, Any] = {**dict(zip(GROUP, keys, strict=True)), "metric": metric, "n": len(both)}
        row |= associations(both, plan, "decision")
        drawn: dict[str, Any] = {"clusters": both["cluster"].to_numpy(), **plan.drawn}
        if plan.turns(str(keys[0])):
            score, rating = np.append(score, -score), np.append(rating, -rating)
            drawn["clusters"] = np.tile(drawn["clusters"], 2)
        found = measure_row(partial(kendall, score, rating, **drawn), "tau")
        row |= {"tau": found["value"], "tau_low": found["low"], "tau_high": found["high"]}
        rows.append({**row, **_ceiling(votes[votes["item"].isin(both["item"])], plan)})
    return claim_primary(pd.DataFrame(rows), plan) if rows else pd.DataFrame()


def _ceiling(votes: pd.DataFrame, plan: Plan) -> dict[str, Any]:
    """The estimated rho of a perfect score with the mean ratings of the items that are compared."""
    if votes.empty:
        return dict.fromkeys(CEILING, np.nan) | {"rho_ceiling_note": "no item to compare"}
    family = str(votes["family"].iloc[0])
    matrix, turned = annotator_matrix(votes), plan.turns(family)
    if turned:
        matrix = both_orders(matrix)
    clusters = clusters_of(votes, matrix.index, plan.clusters.units)
    estimate = partial(noise_ceiling, clusters=clusters, raters=not turned, confidence=plan.confidence)
    found = measure_row(lambda: estimate(matrix, plan.categories(family)), "rho_ceiling")
    values = [found[name] for name in ("value", "low", "high")]
    return dict(zip(CEILING, values, strict=True)) | {"rho_ceiling_note": found["reason"]}


def read_reliability(table: pd.DataFrame) -> str:
    known = table.assign(name=row_names(table))[table["icc_1"].notna()]
    if known.empty:
        return "No dimension has ratings from which an ICC can be computed."
    parts = [
        f"{r['name']}: ICC(2,1) {number(r['icc_1'])} ({interval(r['icc_1_low'], r['icc_1_high'])}), "
        f"ICC(2,k) {number(r['icc_k'])} ({interval(r['icc_k_low'], r['icc_k_high'])}) with k {r['k']:.1f}"
        for _, r in known.iterrows()
    ]
    text = "Two-way random effects, absolute agreement. ICC(2,1) is about one rater, ICC(2,k) about the mean of an item's raters. "
    text += listing(parts) + "."
    bare = known[known["icc_1_low"].isna()]
    return text + "".join(f" No interval for {r['name']}: {r['note']}." for _, r in bare.iterrows())
