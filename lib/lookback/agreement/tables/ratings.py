"""Ratings on a scale: how reliable they are, what the models got, and whether a metric follows them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lookback.agreement.claims import add_claims, claimed
from lookback.agreement.plan import Plan
from lookback.agreement.reading import ceiling_words, interval, number
from lookback.agreement.tables.metric import GROUP, usable
from lookback.agreement.votes import annotator_matrix, both_orders, clusters_of
from lookback.errors import NotScorable
from lookback.names import listing
from lookback.stats import rank_agreement, spearman
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
    """Per family, setting and dimension with a metric: Spearman's rho and Kendall's tau-b of the score with the mean rating.

    `rho_ceiling` is the estimated rho of a perfect score with the same means; `rho_ceiling_note` says why it or its interval is
    missing. `model_rho` compares the means of the models. Scores where less is better are turned first, so agreement is always
    positive.
    """
    rows = []
    for keys, own in units[units["kind"] == "rating"].groupby(GROUP, sort=True):
        metric = own["metric"].iloc[0]
        if metric == "":
            continue
        both = usable(own, "rating")
        score, rating = both["decision"].to_numpy(dtype=float), both["label"].to_numpy(dtype=float)
        row: dict[str, Any] = {**dict(zip(GROUP, keys, strict=True)), "metric": metric, "n": len(both)}
        row |= {"n_clusters": both["cluster"].nunique()}
        drawn: dict[str, Any] = {"clusters": both["cluster"].to_numpy(), **plan.drawn}
        if plan.turns(str(keys[0])):
            score, rating = np.append(score, -score), np.append(rating, -rating)
            drawn["clusters"] = np.tile(drawn["clusters"], 2)
        reasons, notes = [], []
        for name, correlate in (("rho", spearman), ("tau", kendall)):
            try:
                found = correlate(score, rating, **drawn)
                row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high, f"{name}_p": found.p}
                notes.append(found.note)
            except NotScorable as missing:
                row |= dict.fromkeys((name, f"{name}_low", f"{name}_high", f"{name}_p"), np.nan)
                reasons.append(f"{name}: {missing}")
        row |= _ceiling(votes[votes["item"].isin(both["item"])], plan) | _model_level(both)
        rows.append({**row, "reason": "; ".join(reasons), "note": "; ".join(dict.fromkeys(filter(None, notes)))})
    if not rows:
        return pd.DataFrame()
    numbers = [f"{name}{end}" for name in ("rho", "tau") for end in ("", "_low", "_high")]
    table = pd.DataFrame(rows).drop(columns="tau_p").astype(dict.fromkeys((*numbers, "rho_p"), float))
    return add_claims(table, plan, p="rho_p", value="rho")


def _ceiling(votes: pd.DataFrame, plan: Plan) -> dict[str, Any]:
    """The estimated rho of a perfect score with the mean ratings of the items that are compared."""
    if votes.empty:
        return dict.fromkeys(CEILING, np.nan) | {"rho_ceiling_note": "no item to compare"}
    family = str(votes["family"].iloc[0])
    matrix, turned = annotator_matrix(votes), plan.turns(family)
    if turned:
        matrix = both_orders(matrix)
    clusters = clusters_of(votes, matrix.index, plan.clusters.metric if plan.clusters.metric != "annotator" else "scene")
    estimate = partial(noise_ceiling, clusters=clusters, raters=not turned, confidence=plan.confidence)
    found = measure_row(lambda: estimate(matrix, plan.categories(family)), "rho_ceiling")
    values = [found[name] for name in ("value", "low", "high")]
    return dict(zip(CEILING, values, strict=True)) | {"rho_ceiling_note": found["reason"]}


def _model_level(units: pd.DataFrame) -> dict[str, Any]:
    """rho of the models' mean score with their mean rating, where clips were rated one by one."""
    means = units[units["clip_b"] == ""].groupby("model_a")[["decision", "label"]].agg(lambda v: v.astype(float).mean())
    means = (means / means.abs().max().replace(0, 1)).round(12)  # equal means stay tied, whatever the order of their terms
    try:
        found = rank_agreement(means["label"], means["decision"])
    except NotScorable as missing:
        return {
            "n_models": len(means),
            "model_rho": np.nan,
            "model_p": np.nan,
            "model_smallest_p": np.nan,
            "model_reason": str(missing),
        }
    return {
        "n_models": len(means),
        "model_rho": found.rho,
        "model_p": found.p_rho,
        "model_smallest_p": found.smallest_p,
        "model_reason": "",
    }


def read_reliability(table: pd.DataFrame) -> str:
    known = table[table["icc_1"].notna()]
    if known.empty:
        return "No dimension has ratings from which an ICC can be computed."
    parts = [
        f"{r['dimension']}: ICC(2,1) {number(r['icc_1'])} ({interval(r['icc_1_low'], r['icc_1_high'])}), "
        f"ICC(2,k) {number(r['icc_k'])} ({interval(r['icc_k_low'], r['icc_k_high'])}) with k {r['k']:.1f}"
        for _, r in known.iterrows()
    ]
    text = "Two-way random effects, absolute agreement. ICC(2,1) is about one rater, ICC(2,k) about the mean of an item's raters. "
    text += listing(parts) + "."
    bare = known[known["icc_1_low"].isna()]
    return text + "".join(f" No interval for {r['dimension']}: {r['note']}." for _, r in bare.iterrows())


def read_rating_metric(table: pd.DataFrame, plan: Plan) -> str:
    known = table[table["rho"].notna()]
    if known.empty:
        return "Metric and ratings cannot be compared: " + listing(table["reason"].unique().tolist(), 2) + "."
    described = claimed(
        known,
        lambda r: f"{r['dimension']} (rho {number(r['rho'])}, {interval(r['rho_low'], r['rho_high'])}, n {r['n']})",
        "in other scenes for these models",
    )
    bare = known[known["rho_low"].isna()]
    text = f"Does the score rise with the mean rating? Spearman's rho over items, intervals by {plan.clusters.metric}."
    text += f" {described}" if described else ""
    text += "".join(f" No interval for {r['dimension']} (rho {number(r['rho'])}): {r['note']}." for _, r in bare.iterrows())
    ceilings = [f"{r['dimension']}, {ceiling_words(r)}" for _, r in known.iterrows()]
    return text + f" What a perfect score would reach with these ratings: {listing(ceilings)}."
