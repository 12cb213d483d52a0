"""Design effects: event factors (WRBench figure 6), metric correlations (figure 4), mixed model with scene and model."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.errors import NotScorable
from lookback.stats import correlation_structure, factor_contrasts, mixed_model

KEYS = ["benchmark", "setting", "model_id", "clip_id"]
FACTORS = {"none": (0, 0), "spatial": (1, 0), "state": (0, 1), "full": (1, 1)}


def model_means(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean score per benchmark, setting, model and metric, with n; missing scores are left out and counted."""
    groups = scores.groupby(["benchmark", "setting", "model_id", "metric"], sort=True)
    table = groups["value"].agg(value="mean", n="count").reset_index()
    return table.assign(n_missing=(groups.size().to_numpy() - table["n"].to_numpy()))


def correlation_table(scores: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Pearson correlations over models between the metrics the plan names; empty with fewer than two of them."""
    parts = []
    for (benchmark, setting), own in model_means(scores).groupby(["benchmark", "setting"], sort=True):
        own = own[own["metric"].isin(plan.metrics.get(str(benchmark), set()))]
        wide = own.pivot(index="model_id", columns="metric", values="value")
        if wide.shape[1] < 2:
            continue
        table = correlation_structure(wide, confidence=plan.confidence, seed=plan.seed)
        parts.append(table.assign(benchmark=benchmark, setting=setting))
    if not parts:
        return pd.DataFrame()
    result = pd.concat(parts, ignore_index=True)
    return result[["benchmark", "setting", *[c for c in result if c not in ("benchmark", "setting")]]]


def event_scores(scores: pd.DataFrame, clips: pd.DataFrame) -> pd.DataFrame:
    """Scores of clips with an event level, with the two factors and the scene."""
    facts = clips.loc[clips["event_level"].isin(FACTORS), [*KEYS, "scene", "event_level"]]
    table = scores.merge(facts, on=KEYS, how="inner")
    levels = table["event_level"].map(FACTORS)
    return table.assign(spatial=levels.map(lambda f: f[0]).astype(int), state=levels.map(lambda f: f[1]).astype(int))


def cell_table(events: pd.DataFrame) -> pd.DataFrame:
    """Mean score per metric, model and event level, with n (WRBench table 8 by model)."""
    groups = events.groupby(["metric", "model_id", "event_level", "spatial", "state"], sort=True)["value"]
    return groups.agg(value="mean", n="count").reset_index()


def factor_table(events: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Main effects and interaction of the 2x2 event design per metric, paired over models; empty without event levels."""
    parts = []
    for metric, own in events.groupby("metric", sort=True):
        try:
            table = factor_contrasts(own, first="spatial", second="state", confidence=plan.confidence)
            parts.append(table.assign(metric=metric))
        except NotScorable as missing:
            empty = dict.fromkeys(("mean", "shift", "low", "high", "p", "p_holm", "rank_biserial", "smallest_p"), np.nan)
            parts.append(
                pd.DataFrame([{"contrast": "all", "n": 0, "n_incomplete": 0, **empty, "reason": str(missing), "metric": metric}])
            )
    if not parts:
        return pd.DataFrame()
    result = pd.concat(parts, ignore_index=True)
    return result[["metric", *[c for c in result if c != "metric"]]]


def mixed_table(events: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Mixed model of each metric on the event factors, scene and model as random effects; a reason where data cannot carry it."""
    parts = []
    for metric, own in events.groupby("metric", sort=True):
        # one mean per model, scene and cell: repeated cameras are no independent evidence
        cells = own.groupby(["model_id", "scene", "spatial", "state"], as_index=False)["value"].mean().dropna()
        try:
            table = mixed_model(cells, fixed=["spatial", "state"], interactions=True, confidence=plan.confidence)
            parts.append(table.assign(metric=metric, reason=""))
        except NotScorable as missing:
            empty = dict.fromkeys(("estimate", "se", "low", "high", "p"), np.nan)
            row = {"term": "all", "kind": "none", **empty, "n": len(cells), "note": "", "metric": metric, "reason": str(missing)}
            parts.append(pd.DataFrame([row]))
    if not parts:
        return pd.DataFrame()
    result = pd.concat(parts, ignore_index=True)
    return result[["metric", *[c for c in result if c != "metric"]]]
