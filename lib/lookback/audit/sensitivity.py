"""Metric x failure: how far a measure falls when a known failure is injected, and from which severity on that is more than chance.

All drops are counted in the measure's bad direction, so that positive always means "noticed".
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from lookback.audit.targets import meant_for
from lookback.clips import KEYS
from lookback.registry import METRICS

TASK = ["benchmark", "setting", "clip_id"]  # the same scene, camera and event
LOWER_IS_BETTER = ("mse", "lpips", "trans", "rot")  # parts of MIND's metrics
DROPS = [*KEYS, "measure", "failure", "severity", "faithful", "value", "drop"]
REACTIONS = [*KEYS, "measure", "control", "kind", "strength", "sound", "value", "drop"]
SENSITIVITY = ["measure", "failure", "meant", "n", "mean_drop", "rank_correlation", "threshold", "detected_from"]


def measures(items: pd.DataFrame) -> pd.DataFrame:
    """Scored items with the column `measure` and its `sign`: the metric over the whole clip; for MIND each of its parts."""
    scored = items[items["value"].notna()]
    part = scored["phase"].where(scored["benchmark"] == "mind", "")
    whole = scored[(scored["phase"] == "") | (scored["benchmark"] == "mind")]
    part = part.loc[whole.index]
    direction = whole["metric"].map({spec.name: 1.0 if spec.higher_is_better else -1.0 for spec in METRICS})
    lower = part.str.endswith(LOWER_IS_BETTER) & (part != "")
    upper = (part != "") & ~lower
    sign = direction.mask(lower, -1.0).mask(upper, 1.0).astype(float)
    return whole.assign(measure=(whole["metric"] + " " + part).str.strip(), sign=sign)


def paired_drops(items: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """One row per failing clip and measure: its value, the faithful clip's value on the same task, and the drop."""
    scored = measures(items).merge(truth[[*KEYS, "failure", "severity"]], on=KEYS)
    right = scored[scored["severity"] == 0].groupby([*TASK, "measure"])["value"].mean().rename("faithful").reset_index()
    wrong = scored[scored["severity"] > 0].merge(right, on=[*TASK, "measure"])
    return wrong.assign(drop=wrong["sign"] * (wrong["faithful"] - wrong["value"]))[DROPS]


def reactions(trials: pd.DataFrame) -> pd.DataFrame:
    """One row per corrupted clip and measure: its value, the sound clip's, and the drop."""
    if trials.empty:
        return pd.DataFrame(columns=REACTIONS)
    scored = measures(trials)
    key = [*TASK, "sound_model", "measure"]
    right = scored[scored["control"] == "sound"].groupby(key)["value"].mean().rename("sound").reset_index()
    wrong = scored[scored["control"] != "sound"].merge(right, on=key)
    return wrong.assign(drop=wrong["sign"] * (wrong["sound"] - wrong["value"]))[REACTIONS]


def thresholds(reacted: pd.DataFrame, false_alarms: float) -> dict[str, float]:
    """Per measure: the drop that nuisances exceed with a chance of at most `false_alarms` (their empirical quantile)."""
    grouped = reacted[reacted["kind"] == "nuisance"].groupby("measure")["drop"]
    return {str(measure): max(0.0, float(np.quantile(drops, 1 - false_alarms))) for measure, drops in grouped}


def sensitivity(drops: pd.DataFrame, limits: dict[str, float]) -> pd.DataFrame:
    """Per measure and failure: mean drop, n, rank correlation of drop and severity (severity 0 drops 0), and the smallest severity
    whose mean drop exceeds what nuisances do (missing: none does, or the measure met no nuisance)."""
    rows = []
    for (measure, failure), group in drops.groupby(["measure", "failure"], sort=True):
        zero = pd.DataFrame({"severity": [0.0] * len(group), "drop": [0.0] * len(group)})
        both = pd.concat([group[["severity", "drop"]], zero])
        rho = float(spearmanr(both["severity"], both["drop"]).statistic) if both["drop"].nunique() > 1 else 0.0
        limit = limits.get(str(measure), np.nan)
        by_severity = group.groupby("severity")["drop"].mean()
        noticed = by_severity[by_severity > limit]
        rows.append(
            {
                "measure": measure,
                "failure": failure,
                "meant": meant_for(str(failure), str(measure)),
                "n": len(group),
                "mean_drop": group["drop"].mean(),
                "rank_correlation": rho,
                "threshold": limit,
                "detected_from": noticed.index.min() if len(noticed) else np.nan,
            }
        )
    return pd.DataFrame(rows, columns=SENSITIVITY)


def invariance(reacted: pd.DataFrame) -> pd.DataFrame:
    """Per measure and corruption: n and the mean drop at each strength, in units of the sound clips' mean value."""
    if reacted.empty:
        return pd.DataFrame(columns=["measure", "control", "kind", "strength", "n", "mean_drop", "relative_drop"])
    grouped = reacted.groupby(["measure", "control", "kind", "strength"], sort=True)
    table = grouped.agg(n=("drop", "count"), mean_drop=("drop", "mean"), sound=("sound", "mean")).reset_index()
    size = table["sound"].abs().where(table["sound"].abs() > 1e-9)
    return table.assign(relative_drop=table["mean_drop"] / size).drop(columns="sound")
