"""Metric against people: model-level ranking, pair-level bridge, judges' yes/no answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from lookback.agreement.claims import PRIMARY, READINGS, add_claims
from lookback.agreement.plan import Plan
from lookback.agreement.votes import packed_matrix
from lookback.errors import NotScorable, Reason
from lookback.stats import (
    Bridge,
    RankAgreement,
    bridge,
    cohen_kappa,
    judgeability_agreement,
    model_ceiling,
    rank_agreement,
    rank_agreement_pairs,
    trigger_validation,
)
from lookback.stats.association import Units, association_units, pooled_models, within_models
from lookback.stats.intervals import measure_row, number, share, too_few_clusters
from lookback.stats.rankings import pair_codes, win_terms

GROUP = ["family", "role", "benchmark", "setting", "dimension"]
# rho's test is about other models, and so is the interval beside it; those of these models under more votes have their own names
POPULATIONS = {f"{name}_{end}": f"{name}_{end}_these_models" for name in ("rho", "tau", "bootstrap") for end in ("low", "high")}
POPULATIONS |= {f"population_{end}": f"rho_{end}" for end in ("low", "high")}
JUDGED = ["family", "setting"]  # what one judge's answers are about
RANK_FIELDS = [name for name in RankAgreement.__dataclass_fields__ if name not in ("confidence", "note", "n_pairs")]


def usable(units: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Units of this kind with both a human label and an automatic one."""
    return units[(units["kind"] == kind) & units["label"].notna() & units["decision"].notna()]


def ranking_table(units: pd.DataFrame, votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Per family, setting and dimension with a metric: rank agreement of model-level win ratios (MBench table 3, tidy)."""
    rows = []
    for keys, own in units[units["kind"] == "preference"].groupby(GROUP, sort=True):
        named = dict(zip(GROUP, keys, strict=True))
        metric = own["metric"].iloc[0]
        if metric == "":
            continue
        both = usable(own, "preference")
        row: dict[str, Any] = {**named, "metric": metric, "n_pairs": len(both), "n_excluded": _excluded(own)}
        try:
            table = both.assign(human=both["label"].astype(int), metric=both["decision"].astype(int))
            result = rank_agreement_pairs(table, ties=plan.win_ratio_ties, cluster="cluster", **plan.drawn)
            row |= {name: getattr(result, name) for name in RANK_FIELDS} | {"reason": "", "note": result.note}
        except NotScorable as missing:
            row |= dict.fromkeys(RANK_FIELDS, np.nan) | {"reason": str(missing), "note": ""}
        row["ceiling"] = _model_ceiling(votes[votes["item"].isin(own["item"])], plan)
        rows.append(row)
    if not rows:
        return pd.DataFrame()
    table = pd.DataFrame(rows).astype({name: float for name in RANK_FIELDS if name not in ("n_models", "exact", "n_clusters")})
    table = table.rename(columns=POPULATIONS)
    return add_claims(table, plan, p="p_rho", value="rho")


def _excluded(units: pd.DataFrame) -> str:
    """Why units do not enter, with counts: people split, or a score is missing for its typed reason."""
    counts = units.loc[units["label"].isna(), "status"].value_counts().to_dict()
    missing = units.loc[units["label"].notna() & units["decision"].isna(), "missing"].value_counts().to_dict()
    return "; ".join(f"{name} {count}" for name, count in {**counts, **missing}.items())


def _model_ceiling(votes: pd.DataFrame, plan: Plan) -> float:
    matrix = packed_matrix(votes)
    sides = votes.drop_duplicates("item").set_index("item").loc[matrix.index, ["model_a", "model_b"]]
    try:
        return model_ceiling(matrix.to_numpy(dtype=object), sides["model_a"], sides["model_b"], seed=plan.seed).value
    except NotScorable:
        return np.nan


def associations(units: pd.DataFrame, plan: Plan, score: str) -> dict[str, Any]:
    """How the column `score` of one family's units rises with the labels: rho of each reading, its bounds, p, why it is missing."""
    row: dict[str, Any] = {f"{name}_rho{end}": np.nan for name in READINGS for end in ("", "_low", "_high", "_p")}
    row |= {f"{name}_reason": "nothing has both a label and a score" for name in READINGS}
    row |= {"n_models": 0, "n_clusters": 0, "between_smallest_p": np.nan, "primary": PRIMARY[plan.population.claims]}
    if units.empty:
        return row
    family, clusters = str(units["family"].iloc[0]), units["cluster" if plan.clusters.metric == plan.clusters.units else "scene"]
    row["n_clusters"] = int(clusters.nunique())
    against = units["model_b"] if plan.families[family].pairs else None

    def known() -> Units:
        values = (units[score].astype(float), units["label"].astype(float), units["model_a"], against)
        return association_units(*values, clusters=clusters, symmetric=plan.turns(family))

    for name, estimate in (("within", within_models), ("pooled", pooled_models)):
        try:
            found = estimate(known(), plan.confidence)
        except NotScorable as missing:
            row[f"{name}_reason"] = str(missing)
            continue
        bounds = {f"{name}_rho_{end}": number(getattr(found, end)) for end in ("low", "high", "p")}
        row |= {f"{name}_rho": found.value, **bounds, f"{name}_reason": found.note}
    means = _model_means(units, plan).dropna()
    row["n_models"] = len(means)
    try:
        ranked = rank_agreement(means["label"], means["decision"], confidence=plan.confidence, seed=plan.seed)
        row |= {"between_rho": ranked.rho, "between_rho_p": ranked.p_rho, "between_smallest_p": ranked.smallest_p}
        row |= {"between_rho_low": number(ranked.population_low), "between_rho_high": number(ranked.population_high)}
        alone = too_few_clusters(row["n_clusters"], plan.clusters.units)
        row["between_reason"] = "; ".join(filter(None, (ranked.note, alone)))
    except NotScorable as missing:
        row["between_reason"] = str(missing)
    return row


def _model_means(units: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """People's and the metric's value of each model: win ratios of preferences, means of ratings (of pairs: of the margins)."""
    if (units["kind"] == "preference").all():
        codes, ratios = pair_codes(units, None), {}
        for side in ("label", "decision"):
            won, played = (
                terms.sum(axis=0) for terms in win_terms(codes, units[side].to_numpy(dtype=np.int64), plan.win_ratio_ties)
            )
            ratios[side] = np.divide(won, played, out=np.full(len(won), np.nan), where=played > 0)
        return pd.DataFrame(ratios, index=codes.models)
    sides = units[["label", "decision"]].astype(float)
    turned = (units["clip_b"] != "").to_numpy()
    both = pd.concat([sides.assign(model=units["model_a"]), (-sides[turned]).assign(model=units.loc[turned, "model_b"])])
    means = both.groupby("model")[["label", "decision"]].mean()
    return (means / means.abs().max().replace(0, 1)).round(12)  # equal means stay tied, whatever the order of their terms


def claim_primary(table: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The claims of the primary reading of `associations`."""
    primary = PRIMARY[plan.population.claims]
    value = f"{primary}_rho"
    return add_claims(table, plan, p=f"{value}_p", value=value, smallest_p=f"{primary}_smallest_p")


def bridge_table(units: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Per family, setting and dimension with a metric: the pair-level bridge, whole and on the held-out scenes."""
    rows = []
    for keys, own in units[units["kind"] == "preference"].groupby(GROUP, sort=True):
        metric = own["metric"].iloc[0]
        if metric == "":
            continue
        both = usable(own, "preference")
        row: dict[str, Any] = {**dict(zip(GROUP, keys, strict=True)), "metric": metric, "n_excluded": _excluded(own)}
        try:
            result = _bridge(both, plan)
            row |= result.as_row() | {f"confusion_{h}_{m}": int(result.confusion.loc[h, m]) for h in (-1, 0, 1) for m in (-1, 0, 1)}
        except NotScorable as missing:
            row |= {"n": 0, "tau": float(own["tau"].iloc[0]), "reason": str(missing), "note": ""}
        row |= associations(both, plan, "delta")
        held = both[both["scene"].map(plan.holdout.holds)] if len(both) else both
        aside = associations(held, plan, "delta")
        row |= {"n_holdout": len(held), "holdout_reason": aside["pooled_reason"]}
        rows.append(row | {f"holdout_{name}": aside[f"pooled_{name}"] for name in ("rho", "rho_low", "rho_high")})
    if not rows:
        return pd.DataFrame()
    table = pd.DataFrame(rows)
    table["reversals"] = (table["reversals"] if "reversals" in table else pd.Series(pd.NA, table.index)).astype("Int64")
    return claim_primary(table, plan)


def _bridge(units: pd.DataFrame, plan: Plan) -> Bridge:
    if units.empty:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no pair has both a human label and two scores")
    symmetric, tau = plan.orientation == "symmetric", float(units["tau"].iloc[0])
    return bridge(units["label"].astype(int), units["delta"], tau, clusters=units["cluster"], symmetric=symmetric, **plan.drawn)


def _judged(units: pd.DataFrame, kind: str) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """The units of every family and setting that has a judge, and their names: `family` and `setting` where there are several."""
    asked = units[(units["kind"] == kind) & (units["metric"] != "")]
    told = [name for name in JUDGED if asked[name].nunique() > 1]
    for keys, own in asked.groupby(JUDGED, sort=True):
        yield {name: key for name, key in zip(JUDGED, keys, strict=True) if name in told}, own


def trigger_table(units: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Tidy rows per subset and measure of each trigger judge (MBench table 6, tidy); empty without votes or judge."""
    parts = []
    for named, own in _judged(units, "trigger"):
        both = usable(own, "trigger")
        subsets = both["dimension"].str.removeprefix("trigger_")
        if subsets.nunique() < both["dimension"].nunique():
            subsets = both["dimension"]
        try:
            table = trigger_validation(both["label"], both["decision"], subsets, clusters=both["cluster"], **plan.drawn)
        except NotScorable as missing:
            table = _empty_measures({"subset": "overall"}, str(missing))
        parts.append(_with_names(named, table))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def judgeability_table(units: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Tidy rows per dimension and measure (J, NJ, balanced, overall) of each judge; empty without votes or judge."""
    parts = []
    for named, asked in _judged(units, "judgeability"):
        for dimension, own in asked.groupby("dimension", sort=True):
            both = usable(own, "judgeability")
            try:
                table = judgeability_agreement(both["label"], both["decision"], clusters=both["cluster"], **plan.drawn)
                table = table.assign(dimension=dimension)
            except NotScorable as missing:
                table = _empty_measures({"dimension": str(dimension)}, str(missing))
            parts.append(_with_names(named, table))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def vqa_table(units: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Agreement of each judge's VQA answer with people's majority per scene and dimension, in all with kappa (MemoBench fig. 4)."""
    rows: list[dict[str, Any]] = []
    for named, asked in _judged(units, "vqa"):
        both = usable(asked, "vqa")
        for (scene, dimension), own in both.groupby(["scene", "dimension"], sort=True):
            rows.append({**named, "scene": scene, "dimension": dimension, **_share(own, plan)})
        for scene, own in both.groupby("scene", sort=True):
            rows.append({**named, "scene": scene, "dimension": "all", **_share(own, plan)})
        for dimension, own in both.groupby("dimension", sort=True):
            rows.append({**named, "scene": "all", "dimension": dimension, **_share(own, plan)})
        rows.append({**named, "scene": "all", "dimension": "all", **_share(both, plan), **_kappa(both, plan)})
    return pd.DataFrame(rows)


def _share(units: pd.DataFrame, plan: Plan) -> dict[str, Any]:
    same = units["label"] == units["decision"]
    row = measure_row(lambda: share("agreement", same, units["cluster"], confidence=plan.confidence), "agreement")
    return {"agreement": row["value"], **{name: row[name] for name in ("low", "high", "n", "reason")}}


def _kappa(units: pd.DataFrame, plan: Plan) -> dict[str, Any]:
    labels = (units["label"], units["decision"], ["no", "yes"])
    row = measure_row(lambda: cohen_kappa(*labels, clusters=units["cluster"], **plan.drawn), "kappa")
    return {"kappa": row["value"], "kappa_low": row["low"], "kappa_high": row["high"], "kappa_reason": row["reason"]}


def _empty_measures(named: dict[str, str], reason: str) -> pd.DataFrame:
    row = {**named, "measure": "all", "value": np.nan, "low": np.nan, "high": np.nan, "n": 0, "reason": reason}
    return pd.DataFrame([row])


def _with_names(named: dict[str, str], table: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([pd.DataFrame(named, index=table.index), table], axis=1)
