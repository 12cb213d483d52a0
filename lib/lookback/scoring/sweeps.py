"""How much a ranking hangs on a constant: MemoBench table S7, Kendall's tau of the clips' order (every clip of every model)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from lookback.clips import KEYS
from lookback.params import RunParams
from lookback.registry import METRICS
from lookback.scoring.run import score_run

# constant, metric, the values the paper tries
SWEEPS: tuple[tuple[str, str, tuple[float, ...]], ...] = (
    ("top_fraction", "memobench.object_identity", (0.2, 0.3, 0.5, 0.6, 0.8)),
    ("smoothness_tau", "memobench.motion_smoothness", (0.05, 0.10, 0.20, 0.30)),
    ("depth_samples", "memobench.geo3d", (2, 3, 5, 7)),
)
COLUMNS = ["metric", "constant", "value", "kendall_tau", "pairs", "mean", "default_mean", "why"]


def constant_sweeps(params: RunParams, clips: pd.DataFrame, segments: pd.DataFrame, artifacts: pd.DataFrame) -> pd.DataFrame:
    """One row per constant and value; a metric that cannot be scored says why instead."""
    own = clips[clips["benchmark"] == "memobench"]
    rows = []
    for constant, metric, values in SWEEPS if len(own) else ():
        default, why = _scores(params, {}, metric, own, segments, artifacts)
        for value in values:
            changed, _ = _scores(params, {constant: value}, metric, own, segments, artifacts)
            both = pd.concat({"default": default, "changed": changed}, axis=1).dropna()
            tau = float(kendalltau(both["default"], both["changed"]).statistic) if len(both) > 1 else np.nan
            rows.append([metric, constant, value, tau, len(both), both["changed"].mean(), both["default"].mean(), why])
    return pd.DataFrame(rows, columns=COLUMNS)


def _scores(
    params: RunParams,
    constants: dict[str, float],
    metric: str,
    clips: pd.DataFrame,
    segments: pd.DataFrame,
    artifacts: pd.DataFrame,
) -> tuple[pd.Series, str]:
    """The score of each clip of each model under these constants, and the commonest reason of what is missing."""
    changes = {"metrics": [metric], "constants": {**params.scoring.constants, **constants}, "compare_variants": False}
    trial = params.changed(scoring=changes)
    _, items, _ = score_run(trial, clips, segments, artifacts)
    variant = METRICS.get(metric).default_variant
    own = items[(items["variant"] == variant) & (items["phase"] == "")]
    missing = own.loc[own["value"].isna(), "reason"].value_counts()
    return own.set_index(KEYS)["value"], str(missing.index[0]) if len(missing) else ""
