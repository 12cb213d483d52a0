"""The trigger judge against people: MBench table 6."""

from __future__ import annotations

import pandas as pd

from lookback.clips import KEYS
from lookback.judging.quality.shared import first_repeat
from lookback.stats import majority_vote, trigger_validation

LABELS = {"yes": True, "no": False, "triggered": True, "not_triggered": False}


def human_triggers(ratings: pd.DataFrame) -> pd.DataFrame:
    """The human majority per clip from the `ratings` table (task trigger): keys, `human`; ties and splits are left out."""
    votes = ratings[(ratings["task"] == "trigger") & ratings["label"].isin(LABELS)]
    if votes.empty:
        return pd.DataFrame(columns=[*KEYS, "human"])
    votes = votes.assign(vote=votes["label"].map(LABELS).map({True: "yes", False: "no"}))
    keys = ["benchmark", "setting", "model_a", "clip_a"]
    table = votes.pivot_table(index=keys, columns="annotator", values="vote", aggfunc="first", sort=True)
    majority = majority_vote(table, ["no", "yes"])
    labels = pd.Series(majority["label"].to_numpy(), index=table.index, name="human").dropna()
    frame = labels.reset_index().rename(columns={"model_a": "model_id", "clip_a": "clip_id"})
    return frame.assign(human=frame["human"] == "yes")[[*KEYS, "human"]]


def trigger_labels(judgements: pd.DataFrame, ratings: pd.DataFrame) -> pd.DataFrame:
    """The trigger answers (first repeat) of clips with a human majority, with `human` beside them."""
    rows = first_repeat(judgements)
    return rows[rows["task"] == "trigger"].merge(human_triggers(ratings), on=KEYS)


def trigger_accuracy(judgements: pd.DataFrame, ratings: pd.DataFrame, clips: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Accuracy, precision, recall and F1 per judge and subset, over clips with a human majority and an answer."""
    joined = trigger_labels(judgements, ratings).merge(clips[[*KEYS, "subset"]], on=KEYS)
    parts = []
    for judge, part in joined.groupby("judge", sort=True):
        table = trigger_validation(part["human"], part["answer"] == "yes", part["subset"], seed=seed)
        parts.append(table.assign(judge=judge))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["subset", "measure", "value", "n", "judge"])
