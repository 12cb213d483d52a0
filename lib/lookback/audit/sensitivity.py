"""Metric x failure on the demo world: how far a metric falls when a known failure is injected."""

from __future__ import annotations

import pandas as pd
from scipy.stats import spearmanr

from lookback.clips import KEYS
from lookback.registry import METRICS

TASK = ["benchmark", "setting", "clip_id"]  # the same scene, camera and event


def paired_drops(items: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """One row per failing clip and metric: its value, the faithful clip's value on the same task, and the drop.

    The drop is counted in the metric's bad direction, so that positive always means "noticed".
    """
    scored = items[(items["phase"] == "") & items["value"].notna()].merge(truth[[*KEYS, "failure", "severity"]], on=KEYS)
    right = scored[scored["severity"] == 0].groupby([*TASK, "metric", "variant"])["value"].mean().rename("faithful").reset_index()
    wrong = scored[scored["severity"] > 0].merge(right, on=[*TASK, "metric", "variant"])
    sign = wrong["metric"].map({spec.name: 1.0 if spec.higher_is_better else -1.0 for spec in METRICS})
    return wrong.assign(drop=sign * (wrong["faithful"] - wrong["value"]))[
        [*KEYS, "metric", "variant", "failure", "severity", "faithful", "value", "drop"]
    ]


def sensitivity(drops: pd.DataFrame) -> pd.DataFrame:
    """Per metric and failure: mean drop, n, and the rank correlation of drop and severity (with severity 0 dropping 0)."""
    rows = []
    for (metric, failure), group in drops.groupby(["metric", "failure"], sort=True):
        zero = pd.DataFrame({"severity": [0.0] * len(group), "drop": [0.0] * len(group)})
        both = pd.concat([group[["severity", "drop"]], zero])
        rho = float(spearmanr(both["severity"], both["drop"]).statistic) if both["drop"].nunique() > 1 else 0.0
        rows.append(
            {"metric": metric, "failure": failure, "mean_drop": group["drop"].mean(), "rank_correlation": rho, "n": len(group)}
        )
    return pd.DataFrame(rows, columns=["metric", "failure", "mean_drop", "rank_correlation", "n"])
