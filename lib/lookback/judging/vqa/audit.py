"""Discrimination audit: does a question ever fail a known-failure clip? (Of MemoBench's 860 published ones, 800 pass on it.)"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from lookback.judging.vqa.bank import QuestionFile

COLUMNS = ["scene", "video_id", "question_id", "dimension", "polarity", "answer", "passes_failure", "question"]


def discrimination_audit(files: Iterable[QuestionFile]) -> pd.DataFrame:
    """One row per final question: its last answer on the known-failure clip, and whether the clip passes it.

    A question that passes cannot tell this failure from a good clip. `passes_failure` is missing where the clip was not asked.
    """
    rows = []
    for file in files:
        for question in file.final:
            answer = file.revised.get(question.id, file.failure.get(question.id, ""))
            passes = question.passes(answer) if answer else None
            rows.append(
                [file.scene, file.video_id, question.id, question.dimension, question.polarity, answer, passes, question.text]
            )
    return pd.DataFrame(rows, columns=COLUMNS).astype({"passes_failure": "boolean"})


def discrimination_summary(audit: pd.DataFrame) -> pd.DataFrame:
    """Per dimension and over all: final questions, how many were tried on a failure clip, how many of those pass it."""
    parts = [*audit.groupby("dimension", sort=True), ("all", audit)]
    rows = [(name, len(part), int(part["passes_failure"].notna().sum()), int(part["passes_failure"].sum())) for name, part in parts]
    summary = pd.DataFrame(rows, columns=["dimension", "questions", "tried", "pass_on_failure"])
    summary["share_without_power"] = summary["pass_on_failure"] / summary["tried"].where(summary["tried"] > 0)
    return summary
