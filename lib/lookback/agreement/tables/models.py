"""The models themselves: win ratios beside a metric's, and the pairs on which people and metric disagree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.agreement.tables.metric import GROUP, usable
from lookback.stats import win_ratios


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
