"""VQA pass rates by hand, in both record forms the benchmark's files use."""

from __future__ import annotations

import pytest
from lookback.errors import NotScorable
from lookback.metrics.functional import vqa_pass_rate

QUESTIONS = [
    {"ID": 1, "Dimension": "Continuity of Memory", "Dimension Polarity": "Positive", "Question": "Is the cup back?"},
    {"ID": 2, "Dimension": "Continuity of Memory", "Dimension Polarity": "Negative", "Question": "Did the cup vanish?"},
    {"ID": 3, "Dimension": "Continuity of Memory", "Dimension Polarity": "Positive", "Question": "Is it the same cup?"},
    {"ID": 4, "Dimension": "Physics Adherence", "Dimension Polarity": "Negative", "Question": "Does it float?"},
]


def test_positive_yes_and_negative_no_pass() -> None:
    answers = [{"ID": 1, "Answer": "Yes"}, {"ID": 2, "Answer": "Yes"}, {"ID": 3, "Answer": "No"}, {"ID": 4, "Answer": "No"}]
    assert vqa_pass_rate(answers, QUESTIONS) == pytest.approx({"Continuity of Memory": 1 / 3, "Physics Adherence": 1.0})


def test_a_dropped_answer_lowers_the_score_but_raises_the_official_one() -> None:
    answers = [{"ID": 1, "Answer": "Yes"}, {"ID": 2, "Answer": "No"}, {"ID": 4, "Answer": "Yes"}]
    assert vqa_pass_rate(answers, QUESTIONS) == pytest.approx({"Continuity of Memory": 2 / 3, "Physics Adherence": 0.0})
    assert vqa_pass_rate(answers, QUESTIONS, variant="official")["Continuity of Memory"] == 1.0


def test_both_answer_keys_and_both_kinds_of_id_are_read() -> None:
    answers = [
        {"ID": "1", "Answer (Yes/No)": "yes"},
        {"ID": "2", "Answer": "No."},
        {"ID": 3.0, "Answer": " YES "},
        {"ID": 4, "Answer": "no"},
    ]
    assert vqa_pass_rate(answers, QUESTIONS) == {"Continuity of Memory": 1.0, "Physics Adherence": 1.0}


def test_an_unreadable_answer_does_not_pass() -> None:
    answers = [{"ID": 4, "Answer": "cannot tell"}]
    assert vqa_pass_rate(answers, QUESTIONS)["Physics Adherence"] == 0.0


def test_official_counts_answers_by_the_letter() -> None:
    """By hand from llm-vqa.py:269-304, which tests/parity runs: "Yes." is no yes, and "4" is not question 4, so it is positive."""
    answers = [{"ID": 1, "Answer": "Yes."}, {"ID": 3, "Answer": "Yes"}, {"ID": 3, "Answer": "No"}]
    strays = [{"ID": "4", "Dimension": "Physics Adherence", "Answer": "No"}, {"ID": 9, "Dimension": "New", "Answer": "yes"}]
    found = vqa_pass_rate([*answers, *strays], QUESTIONS, variant="official")
    assert found == {"Continuity of Memory": 0.3333, "Physics Adherence": 0.0, "New": 1.0}


def test_official_keeps_the_polarity_in_a_dimension_s_name_and_takes_any_other_spelling_for_negative() -> None:
    named = [f"Physics Adherence ({side} Polarity)" for side in ("Positive", "Negative")]
    questions = [{"ID": k, "Dimension": name, "Dimension Polarity": "positive"} for k, name in enumerate(named)]
    answers = [{"ID": k, "Dimension": name, "Answer": "No"} for k, name in enumerate(named)]
    assert vqa_pass_rate(answers, questions, variant="official") == dict.fromkeys(named, 1.0)
    assert vqa_pass_rate(answers, questions) == {"Physics Adherence": 0.0}


def test_an_answer_without_dimension_and_question_is_refused_by_the_official_variant() -> None:
    with pytest.raises(NotScorable, match="names no Dimension"):
        vqa_pass_rate([{"ID": "1", "Answer": "Yes"}], QUESTIONS, variant="official")
