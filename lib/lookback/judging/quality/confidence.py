"""The trigger judges' confidence held to labels: people's votes and, in the demo world, the truth."""

from __future__ import annotations

import pandas as pd

from lookback.clips import KEYS
from lookback.judging.quality.accuracy import trigger_labels
from lookback.judging.quality.against_truth import decisions_against_truth
from lookback.judging.quality.calibration import calibration
from lookback.judging.quality.shared import first_repeat

PEOPLE, SIMULATED_PEOPLE, TRUTH = "the human majority", "the simulated votes' majority", "the demo world's truth"
COLUMNS = ["judge", "task", "against", "brier", "calibration_error", "accuracy", "n"]


def judge_calibration(
    judgements: pd.DataFrame, clips: pd.DataFrame, *, ratings: pd.DataFrame | None = None, truth: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Brier score, expected calibration error and accuracy of p_yes per trigger judge and source of labels; n counts clips."""
    labelled = {}
    if ratings is not None:
        votes = ratings[ratings["task"] == "trigger"]
        people = SIMULATED_PEOPLE if votes["simulated"].any() else PEOPLE
        labelled[people] = trigger_labels(judgements, ratings).rename(columns={"human": "label"})
    if truth is not None:
        labelled[TRUTH] = _true_labels(judgements, truth, clips)
    rows = [
        {"judge": judge, "task": "trigger", "against": against, **calibration(part["value"], part["label"])}
        for against, frame in labelled.items()
        for judge, part in frame.groupby("judge", sort=True)
    ]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"n": int})


def _true_labels(judgements: pd.DataFrame, truth: pd.DataFrame, clips: pd.DataFrame) -> pd.DataFrame:
    decisions = decisions_against_truth(judgements, truth, clips)
    known = decisions.loc[decisions["decision"] == "trigger", [*KEYS, "judge", "true"]].rename(columns={"true": "label"})
    said = first_repeat(judgements)
    return said[said["task"] == "trigger"].merge(known, on=[*KEYS, "judge"])
