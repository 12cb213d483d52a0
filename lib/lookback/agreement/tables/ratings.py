"""Ratings on a scale: how reliable they are, what the models got, and whether a metric follows them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.agreement.reading import interval, number
from lookback.agreement.tables.metric import GROUP, associations, claim_primary, usable
from lookback.agreement.votes import annotator_matrix, both_orders, clusters_of, packed_matrix
from lookback.errors import NotScorable
from lookback.names import listing
from lookback.stats import bootstrap_ci, tie_ceiling
from lookback.stats.ceiling import noise_ceiling
from lookback.stats.intervals import measure_row
from lookback.stats.rating_scales import icc, kendall
from lookback.stats.ratings import Floats


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


def rating_models_table(units: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Per family, setting, dimension and model: the mean rating of its clips with an interval over clusters; not for pairs."""
    rows = []
    single = units[(units["kind"] == "rating") & (units["clip_b"] == "") & units["label"].notna()]
    for keys, own in single.groupby([*GROUP, "model_a"], sort=True):
        named = dict(zip([*GROUP, "model"], keys, strict=True))
        values = own["label"].to_numpy(dtype=float)
        estimate = measure_row(partial(bootstrap_ci, values, clusters=own["cluster"], **plan.drawn), "mean")
        rows.append({**named, "n": len(own), "mean": estimate["value"], **{k: estimate[k] for k in ("low", "high", "reason")}})
    return pd.DataFrame(rows)


def rating_metric_table(units: pd.DataFrame, votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Per family, setting and dimension with a metric: the associations of the score with the mean rating, and Kendall's tau-b.

    `rho_ceiling` is what a perfect score could reach, since the votes on an item differ and mean ratings tie. Scores where less is
    better are turned first, so agreement is always positive.
    """
    rows = []
    for keys, own in units[units["kind"] == "rating"].groupby(GROUP, sort=True):
        metric = own["metric"].iloc[0]
        if metric == "":
            continue
        both = usable(own, "rating")
        score, rating = both["decision"].to_numpy(dtype=float), both["label"].to_numpy(dtype=float)
        row: dict[str, Any] = {**dict(zip(GROUP, keys, strict=True)), "metric": metric, "n": len(both)}
        row |= {"n_clusters": both["cluster"].nunique(), **associations(both, plan, "decision")}
        drawn: dict[str, Any] = {"clusters": both["cluster"].to_numpy(), **plan.drawn}
        if plan.turns(str(keys[0])):
            score, rating = np.append(score, -score), np.append(rating, -rating)
            drawn["clusters"] = np.tile(drawn["clusters"], 2)
        found = measure_row(partial(kendall, score, rating, **drawn), "tau")
        row |= {"tau": found["value"], "tau_low": found["low"], "tau_high": found["high"]}
        rows.append({**row, **_ceiling(votes[votes["item"].isin(both["item"])], rating, plan)})
    return claim_primary(pd.DataFrame(rows), plan) if rows else pd.DataFrame()


def _ceiling(votes: pd.DataFrame, ratings: Floats, plan: Plan) -> dict[str, Any]:
    """The largest rho with the mean ratings of the items that are compared: their noise sets it, or their ties if that is less."""
    if votes.empty:
        return {"rho_ceiling": np.nan, "rho_ceiling_low": np.nan, "rho_ceiling_high": np.nan}
    family = str(votes["family"].iloc[0])
    matrix = both_orders(packed_matrix(votes)) if plan.turns(family) else packed_matrix(votes)
    cluster = plan.clusters.metric if plan.clusters.metric != "annotator" else "scene"
    clusters = clusters_of(votes, matrix.index, cluster)
    categories = plan.categories(family)
    found: dict[str, Any] = measure_row(
        lambda: noise_ceiling(matrix, categories, clusters=clusters, confidence=plan.confidence), "rho_ceiling"
    )
    ties = tie_ceiling(ratings) if np.ptp(ratings) > 0 else np.nan
    # without a noise ceiling the ties alone set it; a missing bound stays missing
    bounds = {f"rho_ceiling_{end}": np.minimum(found[end], ties) for end in ("low", "high")}
    return {"rho_ceiling": np.fmin(found["value"], ties), **bounds}


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


def read_rating_models(table: pd.DataFrame) -> str:
    wide = float((table["high"] - table["low"]).median())
    end = f"; their intervals are {wide:.2f} wide in the median" if np.isfinite(wide) else "; too few scenes for intervals"
    return (
        f"Mean ratings of {table['model'].nunique()} models over their clips{end}. Models are not tested against each other here."
    )
