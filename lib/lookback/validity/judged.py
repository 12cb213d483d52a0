"""The geometric judge against the labels: did the camera rest, did the subject leave and come back?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from lookback.validity.dataset import Label
from lookback.validity.scores import Said, label_row

YES, NO = True, False
# what the labels say about each fact; None where the passes do not agree or cannot tell
FACTS: Mapping[str, Callable[[Label], bool | None]] = {
    "camera_inactive": lambda label: {"none": YES, "clear": NO}.get(label.camera),
    "subject_hidden": lambda label: {"yes": YES, "no": NO}.get(label.leaves),
    "subject_returned": lambda label: {"yes": YES, "no": NO, "na": NO}.get(label.returns),
}
COLUMNS = [
    "fact",
    "n",
    "positives",
    "named",
    "right",
    "precision",
    "precision_low",
    "precision_high",
    "recall",
    "recall_low",
    "recall_high",
    "F1",
    "abstained",
]


def judge_table(judge: pd.DataFrame, labels: Mapping[str, Label]) -> pd.DataFrame:
    """Per fact: how often the judge's yes is right, how many it finds, how often it says nothing, and its right answers."""
    rows = []
    for fact in FACTS:
        known, said = _told(fact, labels), judge_said(fact, judge, labels)
        as_labels = {
            clip: Label(clip, "", frozenset({fact} if truth else ()), frozenset(), "", "", "", "") for clip, truth in known.items()
        }
        row = label_row(fact, said, as_labels)
        right = sum(one.named == known[one.clip] for one in said if not one.abstained)
        answered = int(row["n"])  # type: ignore[call-overload]
        rows.append({"fact": fact, **row, "right_answers": right, "accuracy": right / answered if answered else float("nan")})
    return pd.DataFrame(rows)[[*COLUMNS, "right_answers", "accuracy"]]


def _told(fact: str, labels: Mapping[str, Label]) -> dict[str, bool]:
    """What the labels say about a fact, for the clips in which they say it."""
    told = {clip: FACTS[fact](label) for clip, label in labels.items()}
    return {clip: truth for clip, truth in told.items() if truth is not None}


def judge_said(fact: str, judge: pd.DataFrame, labels: Mapping[str, Label]) -> list[Said]:
    """The judge's answers about a fact, for the clips whose labels tell it."""
    answers = judge[(judge["fact"] == fact) & (judge["reason"].fillna("") == "")].set_index("clip")
    return [
        Said(clip, fact, bool(answers.loc[clip, "yes"]), float(answers.loc[clip, "confidence"]))
        if clip in answers.index
        else Said(clip, fact, False, abstained="no_mask")
        for clip in _told(fact, labels)
    ]


def wrong_answers(judge: pd.DataFrame, labels: Mapping[str, Label]) -> list[tuple[Said, str]]:
    """The judge's answers that the labels contradict, with a word on what is wrong."""
    return [
        (one, "false yes" if one.named else "missed")
        for fact in FACTS
        for one in judge_said(fact, judge, labels)
        if not one.abstained and one.named != _told(fact, labels)[one.clip]
    ]
