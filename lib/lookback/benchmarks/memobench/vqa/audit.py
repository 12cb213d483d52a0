"""Discrimination audit: which questions does a known-failure clip fail? (It passes 800 of MemoBench's 860 published ones.)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from lookback.benchmarks.memobench.vqa.bank import BankQuestion, QuestionFile

if TYPE_CHECKING:
    from lookback.benchmarks.memobench.vqa.pipeline import Bank, TaskKey

COLUMNS = ["question_id", "dimension", "polarity", "answer", "passes_failure", "question"]


def discrimination_audit(files: Iterable[QuestionFile]) -> pd.DataFrame:
    """One row per final question: its last answer on the known-failure clip, and whether the clip passes it.

    A question that the failure passes cannot tell it from a good clip. `passes_failure` is missing when the question was not asked.
    """
    rows = [row for file in files for row in _rows((file.scene, file.video_id), file.final, file.on_failure)]
    return pd.DataFrame(rows, columns=["scene", "video_id", *COLUMNS]).astype({"passes_failure": "boolean"})


def bank_audit(banks: Mapping[TaskKey, Bank]) -> pd.DataFrame:
    """The same of a run's banks, published or generated; empty where no bank was tried on a known failure."""
    tried = any(bank.on_failure for bank in banks.values())
    rows = [row for key, bank in sorted(banks.items()) for row in _rows(key, bank.questions, bank.on_failure)] if tried else []
    return pd.DataFrame(rows, columns=["setting", "clip_id", *COLUMNS]).astype({"passes_failure": "boolean"})


def _rows(key: tuple[str, str], bank: Sequence[BankQuestion], on_failure: Mapping[str, str]) -> list[tuple[Any, ...]]:
    rows = []
    for question in bank:
        answer = on_failure.get(question.id, "")
        passes = question.passes(answer) if answer else None
        rows.append((*key, question.id, question.dimension, question.side, answer, passes, question.text))
    return rows


def discrimination_summary(audit: pd.DataFrame) -> pd.DataFrame:
    """Per dimension and over all: final questions, how many were tried on a failure clip, how many of those pass it."""
    parts = [*audit.groupby("dimension", sort=True), ("all", audit)]
    rows = [(name, len(part), int(part["passes_failure"].notna().sum()), int(part["passes_failure"].sum())) for name, part in parts]
    summary = pd.DataFrame(rows, columns=["dimension", "questions", "tried", "pass_on_failure"])
    summary["share_without_power"] = summary["pass_on_failure"] / summary["tried"].where(summary["tried"] > 0)
    return summary
