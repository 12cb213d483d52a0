"""From replies to answers: one value or one reason per part."""

from __future__ import annotations

import json

import pytest
from lookback.benchmarks.memobench.vqa.bank import BankQuestion
from lookback.benchmarks.memobench.vqa.pipeline import parts as bank_parts
from lookback.errors import Reason
from lookback.judging.interpret import interpret
from lookback.judging.question import Part, Question, Reply, Stated

ONE = (Part("p", "?"),)
BANK = [
    BankQuestion("1", "Instruction Following", "positive", "Does the camera turn?"),
    BankQuestion("2", "Instruction Following", "negative", "Does it stay?"),
    BankQuestion("13", "Continuity of Memory", "positive", "Is it there?"),
]


@pytest.fixture
def ask(make_clip):
    def make(expects, text, parts=ONE, **reply):
        clip = make_clip()
        question = Question(clip, "task", expects, "", "", "v", tuple(parts), clip.video, clip.content_hash, (), ())
        return interpret(question, [Reply(text, **reply)])

    return make


def test_a_decision_has_a_stated_confidence_and_its_probability_of_yes(ask):
    """MBench's example: untriggered with trigger_score 0.2 is a No of confidence 0.8."""
    answer = ask("decision", '{"trigger": false, "confidence": 0.8, "reason": "nobody leaves"}')[0]
    assert (answer.answer, answer.value, answer.confidence, answer.value_from) == ("no", pytest.approx(0.2), 0.8, "stated")
    assert ask("decision", '{"triggered": "yes", "confidence": "0.6"}')[0].value == pytest.approx(0.6)


UNDECIDED = (
    "",
    "trigger",
    "[1]",
    '{"trigger": true}',
    '{"trigger": "maybe", "confidence": 0.5}',
    '{"trigger": true, "confidence": 7}',
)


@pytest.mark.parametrize("text", UNDECIDED)
def test_a_decision_without_its_fields_is_unread(ask, text):
    answer = ask("decision", text)[0]
    assert (answer.reason, answer.value, answer.verbatim) == (Reason.JUDGE_UNPARSED, None, text)


def test_one_plain_reply_without_usable_scores_is_stated_not_sampled(ask):
    answer = ask("yes_no", "**Yes**", logprobs=(("**Yes", -0.1),))[0]
    assert (answer.answer, answer.value, answer.value_from) == ("yes", 1.0, "stated")


def test_ratings_keep_the_scale(ask):
    assert ask("rating", '{"score": 4, "reason": "almost done"}')[0].value == 4
    assert ask("rating", '{"score": 9}')[0].reason == Reason.JUDGE_UNPARSED


def test_seconds_left_out_or_contradicted_are_unread(ask):
    parts = [Part(f"second_{n:03d}", "?", n) for n in range(4)]
    rows = [{"second": 0, "judgeable": "yes"}, {"sec": "1", "judgeable": False}]
    rows += [{"second": 2, "judgeable": "yes"}, {"second": 2, "judgeable": "no"}]
    answers = ask("per_second", json.dumps({"per_second": rows}), parts)
    assert [answer.answer for answer in answers] == ["yes", "no", "", ""]
    assert [answer.reason for answer in answers] == [None, None, Reason.JUDGE_UNPARSED, Reason.JUDGE_UNPARSED]


def test_answer_tables_take_both_keys_and_ids_of_either_type(ask):
    rows = [{"ID": 1, "Answer": "Yes"}, {"ID": "2", "Answer (Yes/No)": "no"}, {"ID": 13.0, "Answer": True}]
    for body in (rows, {"answers": rows}, f"```json\n{json.dumps(rows)}\n```"):
        text = body if isinstance(body, str) else json.dumps(body)
        assert [answer.answer for answer in ask("table", text, bank_parts(BANK))] == ["yes", "no", "yes"]


def test_a_dropped_or_doubled_row_is_unread_and_the_others_count(ask):
    rows = [{"ID": 1, "Answer": "Yes"}, {"ID": 1, "Answer": "No"}, {"ID": 2, "Answer": "Pass"}, {"ID": 13, "Answer": "Yes"}]
    answers = ask("table", json.dumps(rows), bank_parts(BANK))
    assert [answer.answer for answer in answers] == ["", "", "yes"]
    assert ask("table", "I cannot watch videos.", bank_parts(BANK))[0].verbatim == "I cannot watch videos."


def test_what_a_measuring_judge_states_is_taken_as_it_is(ask):
    stated = {"p": Stated("yes", 0.9, 0.9, "geometry", "The camera turned 60 deg.")}
    assert ask("table", "", stated=stated)[0].verbatim == "The camera turned 60 deg."
    refused = ask("table", "", stated={}, refused={"p": ("no_mask", "never found")})[0]
    assert (refused.reason, refused.verbatim) == (Reason.NO_MASK, "never found")
