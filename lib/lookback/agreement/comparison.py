"""Models compared by people's votes alone: a ranking with ties, and every difference with its interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.agreement.tables.metric import GROUP
from lookback.errors import NotScorable
from lookback.names import listing
from lookback.stats import bradley_terry, ranking_with_ties, strength_comparisons, win_ratio_comparisons, win_ratios
from lookback.stats.intervals import FEWEST_CLUSTERS

RATIO, STRENGTH = "win ratio", "log strength"
BETTER, ALIKE, UNTESTED = "first is better", "not told apart", "not tested"


def model_tables(units: pd.DataFrame, votes: pd.DataFrame, plan: Plan) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(models, comparisons) per family, setting and dimension; empty without preferences.

    Win ratios count the units' labels (majorities, as a rule), strengths every vote. The places and letters are those of the win
    ratios, which always exist.
    """
    preferred = units[(units["kind"] == "preference") & units["label"].notna()]
    ranked, compared = [], []
    for keys, own in preferred.groupby(GROUP, sort=True):
        named = dict(zip(GROUP, keys, strict=True))
        cast = votes.loc[(votes[GROUP] == list(keys)).all(axis=1)].astype({"label": int})
        pairs = own.astype({"label": int})
        models, differences = _one(pairs, cast, plan)
        ranked.append(models.assign(**named))
        compared.append(differences.assign(**named))
    return _joined(ranked), _joined(compared)


def _joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    if not parts:
        return pd.DataFrame()
    table = pd.concat(parts, ignore_index=True)
    return table[[*GROUP, *[c for c in table if c not in GROUP]]]


def _one(pairs: pd.DataFrame, votes: pd.DataFrame, plan: Plan) -> tuple[pd.DataFrame, pd.DataFrame]:
    ratios = win_ratios(pairs, ties=plan.win_ratio_ties, cluster="cluster", **plan.drawn)
    ways: dict[str, Callable[[], pd.DataFrame]] = {
        RATIO: lambda: win_ratio_comparisons(pairs, "cluster", ties=plan.win_ratio_ties, confidence=plan.confidence),
        STRENGTH: lambda: strength_comparisons(votes, _cluster(votes, plan), confidence=plan.confidence),
    }
    parts = {scale: _compared(way, scale, plan) for scale, way in ways.items()}
    places = ranking_with_ties(ratios.set_index("model")["win_ratio"], parts[RATIO], alpha=plan.level).drop(columns="value")
    table = ratios[["model", "n", "win_ratio", "low", "high"]].merge(places, on="model").merge(_strengths(votes, plan), on="model")
    reasons = parts[RATIO]["reason"].replace("", np.nan).dropna().unique()
    return table.assign(reason="; ".join(reasons)), pd.concat(parts.values(), ignore_index=True)


def _cluster(votes: pd.DataFrame, plan: Plan) -> str:
    return plan.clusters.metric if plan.clusters.metric in votes else "item"


def _compared(way: Callable[[], pd.DataFrame], scale: str, plan: Plan) -> pd.DataFrame:
    try:
        table = way()
    except NotScorable as missing:
        empty: dict[str, Any] = dict.fromkeys(("difference", "se", "low", "high", "p", "p_holm"), np.nan)
        return pd.DataFrame([{"scale": scale, "first": "", "second": "", **empty, "verdict": UNTESTED, "reason": str(missing)}])
    corrected = table["p_holm"] if plan.multiplicity == "holm" else table["p"]
    verdict = np.where(corrected.isna(), UNTESTED, np.where(corrected < plan.level, BETTER, ALIKE))
    columns = ["scale", "first", "second", "difference", "se", "low", "high", "p", "p_holm", "verdict", "reason"]
    return table.assign(p_holm=corrected, scale=scale, verdict=verdict)[columns]


def _strengths(votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Model, log_strength with its interval and strength_reason; empty values where the strengths do not exist."""
    models = pd.unique(pd.concat([votes["model_a"], votes["model_b"]]))
    columns = {"low": "log_strength_low", "high": "log_strength_high"}
    try:
        fit = bradley_terry(votes, cluster=_cluster(votes, plan), confidence=plan.confidence)
    except NotScorable as missing:
        empty = dict.fromkeys(("log_strength", *columns.values()), np.nan)
        return pd.DataFrame({"model": models}).assign(**empty, strength_reason=str(missing))
    few = votes[_cluster(votes, plan)].nunique() < FEWEST_CLUSTERS
    table = fit.table[["model", "log_strength", "low", "high"]].rename(columns=columns).assign(strength_reason=fit.note)
    if few:
        table[list(columns.values())] = np.nan
    return table


def read_models(table: pd.DataFrame, plan: Plan) -> str:
    """Per dimension: how many differences are told from zero, and which models may be best."""
    found, bare = [], []
    several = table["setting"].nunique() > 1
    for (_, setting, dimension), own in table.groupby(["family", "setting", "dimension"], sort=False):
        name = f"{dimension} [{setting}]" if setting and several else str(dimension)
        if own["reason"].str.contains("clusters only").any():
            bare.append(name)
            continue
        m, best = len(own), own.loc[own["place_low"] == 1, "model"].astype(str).tolist()
        apart = int((m - own["place_high"]).sum())
        may = "every model" if len(best) == m else listing(best, 3)
        found.append(f"{name} (told apart: {apart} of {m * (m - 1) // 2} pairs of models; may be best: {may})")
    text = (
        "Models that share a letter are not told apart (win ratios of the labels, all pairs of models tested, "
        f"{'Holm' if plan.multiplicity == 'holm' else 'uncorrected'}, level {plan.level})."
    )
    text += f" {'; '.join(found[:6])}{f'; and {len(found) - 6} more' if len(found) > 6 else ''}." if found else ""
    return text + (f" Too few scenes for any verdict in {listing(bare, 6)}." if bare else "")


def read_comparisons(table: pd.DataFrame, plan: Plan) -> str:
    parts = []
    for scale, own in table.groupby("scale", sort=False):
        tested = own[own["verdict"] != UNTESTED]
        apart = int((tested["verdict"] == BETTER).sum())
        parts.append(f"{scale}: {apart} of {len(tested)} tested differences are told from zero")
    untested = int((table["verdict"] == UNTESTED).sum())
    text = f"Differences between models with {plan.confidence:.0%} intervals of single comparisons; verdicts are corrected for all "
    text += f"pairs of models of a ranking. {'; '.join(parts)}."
    return text + (f" {untested} rows could not be tested; each says why." if untested else "")
