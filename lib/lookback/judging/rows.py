"""Rows of the `judgements` table from what was asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from lookback.clips import KEYS
from lookback.judging.asking import Asked
from lookback.judging.question import Answer, Question, Unasked
from lookback.judging.recording import Identity
from lookback.tables import SCHEMAS, empty_table


def asked_rows(identity: Identity, asked: Iterable[Asked]) -> list[dict[str, Any]]:
    """One row per answer."""
    return [_row(identity, one.question, one.repeat, answer) for one in asked for answer in one.answers]


def unasked_rows(identity: Identity, unasked: Iterable[Unasked], repeats: int) -> list[dict[str, Any]]:
    """Rows of questions that could not be put."""
    rows = []
    for one in unasked:
        answers = [Answer(part, reason=one.reason, verbatim=one.detail) for part in one.parts]
        rows += [_row(identity, one, repeat, answer) for repeat in range(repeats) for answer in answers]
    return rows


def judgements_frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """The rows as the declared table."""
    if not rows:
        return empty_table("judgements")
    return pd.DataFrame(rows, columns=list(SCHEMAS["judgements"].columns))


def _row(identity: Identity, asked: Question | Unasked, repeat: int, answer: Answer) -> dict[str, Any]:
    return {
        **dict(zip(KEYS, asked.clip.key, strict=True)),
        "task": asked.task,
        "question_id": answer.part.question_id,
        "judge": identity.label,
        "repeat": repeat,
        "frame": answer.part.frame,
        "question": answer.part.text,
        "answer": answer.answer,
        "value": answer.value,
        "confidence": answer.confidence,
        "value_from": answer.value_from,
        "reason": "" if answer.reason is None else str(answer.reason),
        "verbatim": answer.verbatim,
        "prompt_version": asked.prompt_version,
        "simulated": identity.simulated,
        "backend": identity.name,
        "version": identity.version,
        "weights": identity.model,
        "params_hash": identity.settings_hash[:16],
        "input_hash": asked.clip.content_hash[:16],
    }
