"""How much ORS hangs on the words that the masks are asked for with: MemoBench table S4."""

from __future__ import annotations

import pandas as pd

from lookback.backends.choose import choose_backend
from lookback.errors import LookbackError, Reason
from lookback.extraction.run import extract_run
from lookback.params import RunParams
from lookback.scoring.run import score_run
from lookback.scoring.variants import only_chosen

METRIC = "memobench.ors"
BACKEND = "sam2"  # the one that can be asked for an object by name
# the paper's five styles; {subject} is the clip's object name, {first} its first word
STYLES = {
    "original subject phrase": "{subject}",
    "the <subject>": "the {subject}",
    "detect <subject> in the scene": "detect {subject} in the scene",
    "a photo of <subject>": "a photo of {subject}",
    "first word only": "{first}",
}
COLUMNS = ["style", "model_id", "mean", "sd", "n", "why"]


def prompt_sweep(params: RunParams, clips: pd.DataFrame, segments: pd.DataFrame) -> pd.DataFrame:
    """One row per style and model: mean and standard deviation of ORS over clips; why there is none, where masks take no words."""
    own = clips[clips["benchmark"] == "memobench"]
    if own.empty:
        return pd.DataFrame(columns=COLUMNS)
    try:
        chosen = choose_backend("masks", params).name
    except LookbackError as error:
        return _without(str(error))
    if chosen != BACKEND:
        return _without(f"{Reason.BACKEND_UNAVAILABLE}: masks come from '{chosen}', which is given a box; words need '{BACKEND}'")
    rows = []
    for style, phrase in STYLES.items():
        items = _scored(params, phrase, own, segments)
        for model, group in items.groupby("model_id", sort=True):
            values, missing = group["value"].dropna(), group.loc[group["value"].isna(), "reason"].value_counts()
            why = str(missing.index[0]) if len(missing) else ""
            rows.append([style, model, values.mean(), values.std(), len(values), why])
    return pd.DataFrame(rows, columns=COLUMNS)


def _without(why: str) -> pd.DataFrame:
    return pd.DataFrame([[style, "", float("nan"), float("nan"), 0, why] for style in STYLES], columns=COLUMNS)


def _scored(params: RunParams, phrase: str, clips: pd.DataFrame, segments: pd.DataFrame) -> pd.DataFrame:
    """ORS of every clip, whole, with the object asked for by this phrase."""
    options = params.extraction.options
    asked = {**options, "masks": {**options.get("masks", {}), "phrase": phrase}}
    trial = params.changed(
        extraction={"roles": ["masks"], "options": asked}, scoring={"metrics": [METRIC], "compare_variants": False}
    )
    artifacts, _ = extract_run(trial, clips)
    _, items, _ = score_run(trial, clips, segments, artifacts)
    items = only_chosen(items, trial)
    return items[items["phase"] == ""]
