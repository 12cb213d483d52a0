"""Are judges right? Their answers compared with people's votes (MBench table 6) and with the truth of the demo world."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lookback.camera.poses import relative_to_first, rotation_angle_deg
from lookback.clips import KEYS
from lookback.errors import ContractError, NotScorable, Reason, brief
from lookback.judging.quality.consistency import answered, first_repeat
from lookback.paths import resolve
from lookback.registry import BENCHMARKS
from lookback.stats import majority_vote, trigger_validation

AWAY_DEG, BACK_DEG = 30.0, 15.0  # farther than the first, the camera has left the view; nearer than the second, it is back
BINS = 10
PEOPLE, SIMULATED_PEOPLE, TRUTH = "the human majority", "the simulated votes' majority", "the demo world's truth"
LABELS = dict.fromkeys(("yes", "true", "1", "triggered"), "yes") | dict.fromkeys(("no", "false", "0", "not_triggered"), "no")


def human_triggers(ratings: pd.DataFrame) -> pd.DataFrame:
    """The human majority on the trigger of each clip, from the `ratings` table; clips without a majority are left out.

    Upper and lower case are read alike. Other labels are a ContractError.
    """
    votes = ratings[ratings["task"] == "trigger"]
    if votes.empty:
        return pd.DataFrame(columns=[*KEYS, "human"])
    votes = votes.assign(vote=votes["label"].astype(str).str.strip().str.lower().map(LABELS))
    odd = votes.loc[votes["vote"].isna(), "label"]
    if len(odd):
        raise ContractError(f"trigger votes are yes or no, found {brief(odd.iloc[0])}; write one of {', '.join(LABELS)}")
    keys = ["benchmark", "setting", "model_a", "clip_a"]
    table = votes.pivot_table(index=keys, columns="annotator", values="vote", aggfunc="first", sort=True)
    majority = majority_vote(table, ["no", "yes"])
    labels = pd.Series(majority["label"].to_numpy(), index=table.index, name="human").dropna()
    frame = labels.reset_index().rename(columns={"model_a": "model_id", "clip_a": "clip_id"})
    return frame.assign(human=frame["human"] == "yes")[[*KEYS, "human"]]


def trigger_labels(judgements: pd.DataFrame, ratings: pd.DataFrame) -> pd.DataFrame:
    """The trigger answers (first repeat) of clips with a human majority, which is the column `human`."""
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


def decisions_against_truth(judgements: pd.DataFrame, truth: pd.DataFrame, clips: pd.DataFrame) -> pd.DataFrame:
    """One row per clip, judge and decision (`trigger`, `support`) whose true answer is known: `said` and `true`.

    The demo world knows whether a subject returns. The trigger of the environment subset is about the view instead: did the true
    camera turn away and come back?
    """
    asked_of = truth.drop(columns="subset").merge(clips[[*KEYS, "subset"]], on=KEYS)  # one scene may be used in several subsets
    known = {tuple(row[name] for name in KEYS): row for row in asked_of.to_dict("records")}
    first = answered(judgements[judgements["repeat"] == 0])
    return pd.DataFrame(list(_decisions(first, known)), columns=[*KEYS, "judge", "decision", "said", "true"])


def truth_agreement(decisions: pd.DataFrame) -> pd.DataFrame:
    """Per judge and decision, and for both decisions together: the number of clips, how many are right, and their share."""
    both = decisions.assign(decision="both")
    grouped = pd.concat([decisions, both]).assign(right=lambda rows: rows["said"] == rows["true"]).groupby(["judge", "decision"])
    return grouped["right"].agg(clips="count", right="sum", share="mean").reset_index()


def _decisions(judgements: pd.DataFrame, known: dict[tuple[str, ...], dict[str, Any]]) -> Iterator[tuple[object, ...]]:
    for (*key, task, judge), rows in judgements.groupby([*KEYS, "task", "judge"], sort=False):
        row = known.get(tuple(key))
        if row is None:
            continue
        answers = dict(zip(rows["question_id"], rows["answer"], strict=True))
        for name, said in BENCHMARKS.get(row["benchmark"]).decisions(str(task), answers).items():
            true = _view_returns(row) if row["subset"] == "environment" and name == "trigger" else bool(row["returns"])
            yield (*key, judge, name, said, true)


def _view_returns(row: dict[str, Any]) -> bool:
    with np.load(resolve(row["record"]), allow_pickle=False) as record:
        turned = rotation_angle_deg(np.eye(4), relative_to_first(record["c2w"]))
    return bool(turned.max() > AWAY_DEG and turned[-1] < BACK_DEG)


def calibration_table(probability: ArrayLike, truth: ArrayLike, bins: int = BINS) -> pd.DataFrame:
    """Equal-width bins of p_yes: the number of answers, their mean p_yes, and the share whose label is yes."""
    p, yes = _pair(probability, truth)
    place = np.minimum((p * bins).astype(int), bins - 1)
    rows = []
    for index in np.unique(place):
        chosen = place == index
        rows.append((index / bins, (index + 1) / bins, int(chosen.sum()), float(p[chosen].mean()), float(yes[chosen].mean())))
    return pd.DataFrame(rows, columns=["low", "high", "n", "mean_p_yes", "share_yes"])


def calibration(probability: ArrayLike, truth: ArrayLike, bins: int = BINS) -> dict[str, float]:
    """Brier = mean (p - y)^2; expected calibration error = sum_b n_b/n |share_b - mean p_b|; accuracy at 0.5; n."""
    p, yes = _pair(probability, truth)
    table = calibration_table(p, yes, bins)
    error = float((table["n"] * (table["share_yes"] - table["mean_p_yes"]).abs()).sum() / len(p))
    return {
        "brier": float(np.mean((p - yes) ** 2)),
        "calibration_error": error,
        "accuracy": float(np.mean((p >= 0.5) == (yes == 1))),
        "n": float(len(p)),
    }


def _pair(probability: ArrayLike, truth: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    p, yes = np.asarray(probability, np.float64), np.asarray(truth, np.float64)
    if len(p) == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no answer has a label to compare with")
    if len(p) != len(yes):
        raise NotScorable(Reason.LENGTH_MISMATCH, f"{len(p)} probabilities against {len(yes)} labels")
    if not (np.isfinite(p).all() and p.min() >= 0 and p.max() <= 1 and np.isin(yes, [0, 1]).all()):
        raise NotScorable(Reason.INVALID_INPUT, "probabilities lie in [0,1] and labels are 0 or 1")
    return p, yes


def judge_calibration(
    judgements: pd.DataFrame, clips: pd.DataFrame, *, ratings: pd.DataFrame | None = None, truth: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Is a judge as often right as it says? Brier score, calibration error and accuracy per trigger judge and source of labels."""
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
    return pd.DataFrame(rows, columns=["judge", "task", "against", "brier", "calibration_error", "accuracy", "n"]).astype(
        {"n": int}
    )


def _true_labels(judgements: pd.DataFrame, truth: pd.DataFrame, clips: pd.DataFrame) -> pd.DataFrame:
    decisions = decisions_against_truth(judgements, truth, clips)
    known = decisions.loc[decisions["decision"] == "trigger", [*KEYS, "judge", "true"]].rename(columns={"true": "label"})
    said = first_repeat(judgements)
    return said[said["task"] == "trigger"].merge(known, on=[*KEYS, "judge"])
