"""The models themselves: win ratios, strengths, the pairs on which people and metric disagree, and how many votes would tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.agreement.tables.metric import GROUP, usable
from lookback.errors import NotScorable
from lookback.stats import bradley_terry, power_table, win_ratios
from lookback.stats.rankings import design_effect


def win_ratio_table(units: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Per family, setting, dimension and model: people's and the metric's win ratio over the same pairs, with intervals."""
    parts = []
    drawn: dict[str, Any] = {"ties": plan.win_ratio_ties, "cluster": "cluster", **plan.drawn}
    for keys, own in usable(units, "preference").groupby(GROUP, sort=True):
        table = own.assign(human=own["label"].astype(int), machine=own["decision"].astype(int))
        human = win_ratios(table, label="human", **drawn)[["model", "n", "win_ratio", "low", "high", "reason"]]
        metric = win_ratios(table, label="machine", **drawn)[["model", "win_ratio", "low", "high", "reason"]]
        merged = human.merge(metric, on="model", suffixes=("_human", "_metric"))
        parts.append(merged.assign(**dict(zip(GROUP, keys, strict=True)), metric=own["metric"].iloc[0]))
    if not parts:
        return pd.DataFrame()
    table = pd.concat(parts, ignore_index=True)
    first = [*GROUP, "metric", "model"]
    return table[[*first, *[c for c in table if c not in first]]]


def strengths_table(votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Per family, setting and dimension: Davidson strengths of the models from every vote, errors by the plan's clusters."""
    parts = []
    for keys, own in votes[votes["kind"] == "preference"].groupby(GROUP, sort=True):
        named = dict(zip(GROUP, keys, strict=True))
        try:
            pairs = own.assign(label=own["label"].astype(int))
            fit = bradley_terry(pairs, cluster=plan.clusters.metric, confidence=plan.confidence)
            parts.append(fit.table.assign(**named, tie_parameter=fit.tie, n_votes=fit.n, reason=fit.note))
        except NotScorable as missing:
            row = {"model": "", "log_strength": np.nan, "se": np.nan, "low": np.nan, "high": np.nan, "win_probability": np.nan}
            parts.append(pd.DataFrame([{**row, **named, "n_votes": len(own), "reason": str(missing)}]))
    if not parts:
        return pd.DataFrame()
    table = pd.concat(parts, ignore_index=True)
    return table[[*GROUP, *[c for c in table if c not in GROUP]]]


def disagreements_table(units: pd.DataFrame) -> pd.DataFrame:
    """Pairs and clips on which people and the automatic answer differ, the clearest reversals first, with their clips."""
    both = units[units["label"].notna() & units["decision"].notna()]
    wrong = both[both["label"] != both["decision"]]
    opposite = [_sign(said) * _sign(decided) == -1 for said, decided in zip(wrong["label"], wrong["decision"], strict=True)]
    reversal = (wrong["kind"] == "preference").to_numpy() & np.array(opposite, dtype=bool)
    columns = ["family", "setting", "dimension", "question", "scene", "model_a", "clip_a", "model_b", "clip_b"]
    columns += ["label", "share", "n_votes", "decision", "metric", "value_a", "value_b", "delta"]
    table = wrong[columns].assign(reversal=reversal, size=wrong["delta"].abs().to_numpy())
    table = table.sort_values(["reversal", "size"], ascending=[False, False], kind="stable", na_position="last")
    return table.drop(columns="size").astype({"label": str, "decision": str}).reset_index(drop=True)


def _sign(value: object) -> int:
    return int(value) if isinstance(value, int | np.integer) else 0


def _design_effect(units: pd.DataFrame, plan: Plan) -> tuple[float, str]:
    """The median over dimensions of how much clustering inflates the variance of win ratios, at least 1; or 1 and why."""
    drawn: dict[str, Any] = {"ties": plan.win_ratio_ties, "resamples": plan.resamples, "seed": plan.seed}
    table = units.assign(label=units["label"].astype(int))
    effects = [design_effect(own, "cluster", **drawn) for _, own in table.groupby("dimension", sort=True)]
    known = [effect for effect in effects if np.isfinite(effect)]
    if not known:
        return 1.0, "the design effect cannot be estimated (too few clusters, or votes that do not vary) and is taken as 1"
    return max(1.0, float(np.median(known))), ""


def votes_table(units: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """What it takes to tell two models apart, per family: decided pairs, pairs to show for them, and votes; alone and corrected.

    Ties, design effect, the share of pairs with a majority and the votes a pair are those of this study.
    """
    parts = []
    asked = units[units["kind"] == "preference"]
    for (family, setting), shown in asked.groupby(["family", "setting"]):
        own = shown[shown["label"].notna()]
        if own.empty:
            continue
        models = pd.unique(pd.concat([own["model_a"], own["model_b"]]))
        comparisons = max(1, len(models) * (len(models) - 1) // 2)
        effect, reason = _design_effect(own, plan)
        ties = round(float((own["label"] == 0).mean()), 4)
        table = power_table(tie_share=ties, alpha=plan.level, power=plan.power, design_effect=effect, comparisons=comparisons)
        table = table.rename(columns={"votes": "decided_pairs", "votes_corrected": "decided_pairs_corrected"})
        decided, votes = len(own) / len(shown), float(shown["n_votes"].median())
        for suffix in ("", "_corrected"):
            table[f"pairs{suffix}"] = np.ceil(table[f"decided_pairs{suffix}"] / decided).astype(int)
            table[f"votes{suffix}"] = np.ceil(table[f"pairs{suffix}"] * votes).astype(int)
        met = own.groupby([own[["model_a", "model_b"]].min(axis=1), own[["model_a", "model_b"]].max(axis=1), "dimension"]).size()
        named = {"family": family, "setting": setting, "design_effect": effect, "comparisons": comparisons}
        now = int(met.median())
        parts.append(table.assign(**named, decided_share=decided, decided_pairs_now=now, reason=reason))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
