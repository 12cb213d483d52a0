"""VQA pass rates by dimension (MemoBench section 3.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant, require_variant

ANSWER_KEYS = ("Answer", "Answer (Yes/No)")


def vqa_pass_rate(
    answers: Sequence[Mapping[str, Any]], questions: Sequence[Mapping[str, Any]], *, variant: Variant = "paper"
) -> dict[str, float]:
    """Per dimension: (positive answered yes + negative answered no) / questions asked.

    Records as the benchmark writes them: questions with ID, Dimension, Dimension Polarity; answers with ID and Answer (or "Answer
    (Yes/No)"); ids as numbers or text. A question without a readable answer is not passed. Official divides by the questions that
    came back, so that a dropped answer raises the score.
    """
    require_variant(variant, ("paper", "official"))
    if not questions:
        raise NotScorable(Reason.MISSING_INPUT, "no question was asked")
    given = {_identity(record): _yes_or_no(record) for record in answers}
    asked: dict[str, int] = {}
    passed: dict[str, int] = {}
    for question in questions:
        answer = given.get(_identity(question))
        if variant == "official" and _identity(question) not in given:
            continue
        if "Dimension" not in question:
            raise NotScorable(Reason.INVALID_INPUT, f"question {_identity(question)} names no Dimension")
        dimension = str(question["Dimension"])
        asked[dimension] = asked.get(dimension, 0) + 1
        passed[dimension] = passed.get(dimension, 0) + (answer == _passing_answer(question))
    if not asked:
        raise NotScorable(Reason.JUDGE_UNPARSED, "no question came back with an answer")
    return {dimension: passed[dimension] / count for dimension, count in asked.items()}


def _identity(record: Mapping[str, Any]) -> str:
    """The question's id: 3, "3" and 3.0 are the same."""
    text = str(record.get("ID", "")).strip()
    if not text:
        raise NotScorable(Reason.INVALID_INPUT, f"a record has no ID: {dict(record)}")
    return text[:-2] if text.endswith(".0") else text


def _yes_or_no(record: Mapping[str, Any]) -> str | None:
    for key in ANSWER_KEYS:
        word = str(record.get(key) or "").strip().strip(".").lower()
        if word in {"yes", "no"}:
            return word
    return None


def _passing_answer(question: Mapping[str, Any]) -> str:
    polarity = str(question.get("Dimension Polarity", "")).strip().lower()
    if polarity not in {"positive", "negative"}:
        raise NotScorable(
            Reason.INVALID_INPUT, f"question {question.get('ID')}: polarity must be Positive or Negative, not '{polarity}'"
        )
    return "yes" if polarity == "positive" else "no"
