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
    for fact, told in FACTS.items():
        known = {clip: told(label) for clip, label in labels.items() if told(label) is not None}
        as_labels = {
            clip: Label(clip, "", frozenset({fact} if truth else ()), frozenset(), "", "", "", "") for clip, truth in known.items()
        }
        answers = judge[(judge["fact"] == fact) & (judge["reason"].fillna("") == "")].set_index("clip")
        said = [
            Said(clip, fact, bool(answers.loc[clip, "yes"]), float(answers.loc[clip, "confidence"]))
            if clip in answers.index
            else Said(clip, fact, False, abstained="no_mask")
            for clip in known
        ]
        row = label_row(fact, said, as_labels)
        right = sum(one.named == known[one.clip] for one in said if not one.abstained)
        answered = int(row["n"])  # type: ignore[call-overload]
        rows.append({"fact": fact, **row, "right_answers": right, "accuracy": right / answered if answered else float("nan")})
    return pd.DataFrame(rows)[[*COLUMNS, "right_answers", "accuracy"]]
