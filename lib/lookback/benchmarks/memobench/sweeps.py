"""MemoBench's sensitivity tables: S4 (ORS by the style of the mask prompt) and S7 (ranking with other constants)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from lookback.backends.choose import choose_backend
from lookback.clips import KEYS
from lookback.errors import LookbackError, Reason
from lookback.extraction.run import extract_run
from lookback.params import RunParams
from lookback.registry import METRICS
from lookback.scoring.run import score_run
from lookback.scoring.variants import only_chosen

# constant, metric, the values the paper tries
SWEEPS: tuple[tuple[str, str, tuple[float, ...]], ...] = (
    ("top_fraction", "memobench.object_identity", (0.2, 0.3, 0.5, 0.6, 0.8)),
    ("smoothness_tau", "memobench.motion_smoothness", (0.05, 0.10, 0.20, 0.30)),
    ("depth_samples", "memobench.geo3d", (2, 3, 5, 7)),
)
SWEEP_COLUMNS = ["metric", "constant", "value", "kendall_tau", "pairs", "mean", "default_mean", "why"]
BENCHMARK, ORS = "memobench", "memobench.ors"
WORDS_BACKEND = "sam2"  # finds an object by its name in the first frame; a backend with `query` asks every frame
# the paper's five styles; {subject} is the clip's object name, {first} its first word
STYLES = {
    "original subject phrase": "{subject}",
    "the <subject>": "the {subject}",
    "detect <subject> in the scene": "detect {subject} in the scene",
    "a photo of <subject>": "a photo of {subject}",
    "first word only": "{first}",
}
STYLE_COLUMNS = ["style", "model_id", "mean", "sd", "n", "why"]


def constant_sweeps(params: RunParams, clips: pd.DataFrame, segments: pd.DataFrame, artifacts: pd.DataFrame) -> pd.DataFrame:
    """One row per constant and value; a metric that cannot be scored says why instead."""
    rows = []
    for constant, metric, values in SWEEPS:
        default, why = _scores(params, {}, metric, clips, segments, artifacts)
        for value in values:
            changed, _ = _scores(params, {constant: value}, metric, clips, segments, artifacts)
            both = pd.concat({"default": default, "changed": changed}, axis=1).dropna()
            tau = float(kendalltau(both["default"], both["changed"]).statistic) if len(both) > 1 else np.nan
            rows.append([metric, constant, value, tau, len(both), both["changed"].mean(), both["default"].mean(), why])
    return pd.DataFrame(rows, columns=SWEEP_COLUMNS)


def _scores(
    params: RunParams,
    constants: dict[str, float],
    metric: str,
    clips: pd.DataFrame,
    segments: pd.DataFrame,
    artifacts: pd.DataFrame,
) -> tuple[pd.Series, str]:
    """The score of each clip of each model under these constants, and the most frequent reason for missing scores."""
    changes = {"metrics": [metric], "constants": {**params.scoring.constants, **constants}, "compare_variants": False}
    trial = params.changed(scoring=changes)
    _, items, _ = score_run(trial, clips, segments, artifacts)
    variant = METRICS.get(metric).default_variant
    own = items[(items["variant"] == variant) & (items["phase"] == "")]
    missing = own.loc[own["value"].isna(), "reason"].value_counts()
    return own.set_index(KEYS)["value"], str(missing.index[0]) if len(missing) else ""


def prompt_sweep(params: RunParams, clips: pd.DataFrame, segments: pd.DataFrame) -> pd.DataFrame:
    """One row per style and model: mean and standard deviation of ORS over clips; or why there is none."""
    try:
        chosen = choose_backend("masks", params, BENCHMARK)
    except LookbackError as error:
        return _without(str(error))
    if chosen.name != WORDS_BACKEND and not hasattr(chosen.build, "query"):
        return _without(
            f"{Reason.BACKEND_UNAVAILABLE}: masks come from '{chosen.name}', which is given a box; words need '{WORDS_BACKEND}'"
        )
    rows = []
    for style, phrase in STYLES.items():
        items = _asked_for(params, phrase, clips, segments)
        for model, group in items.groupby("model_id", sort=True):
            values, missing = group["value"].dropna(), group.loc[group["value"].isna(), "reason"].value_counts()
            why = str(missing.index[0]) if len(missing) else ""
            rows.append([style, model, values.mean(), values.std(), len(values), why])
    return pd.DataFrame(rows, columns=STYLE_COLUMNS)


def _without(why: str) -> pd.DataFrame:
    return pd.DataFrame([[style, "", float("nan"), float("nan"), 0, why] for style in STYLES], columns=STYLE_COLUMNS)


def _asked_for(params: RunParams, phrase: str, clips: pd.DataFrame, segments: pd.DataFrame) -> pd.DataFrame:
    """ORS of every clip, whole, with the object asked for by this phrase."""
    options = params.extraction.options
    asked = {**options, "masks": {**options.get("masks", {}), "phrase": phrase}}
    trial = params.changed(extraction={"roles": ["masks"], "options": asked}, scoring={"metrics": [ORS], "compare_variants": False})
    artifacts, _ = extract_run(trial, clips)
    _, items, _ = score_run(trial, clips, segments, artifacts)
    items = only_chosen(items, trial)
    return items[items["phase"] == ""]
