"""Reading replies: strictly, then leniently, never with a guessed No; one value or one reason per part."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lookback.benchmarks.memobench.vqa.bank import BankQuestion
from lookback.benchmarks.memobench.vqa.pipeline import parts as bank_parts
from lookback.errors import Reason
from lookback.judging.parsing import as_number, as_yes_no, interpret, parse_json, parse_rating, parse_yes_no
from lookback.judging.question import Part, Question, Reply, Stated

YES_NO = {
    "Yes": "yes",
    " yes.": "yes",
    "**No**": "no",
    '"NO"': "no",
    "Yes, the cat is on the bed.": "yes",
    "No: it has vanished": "no",
    "The answer is yes.": "yes",
    "Final answer: **No**": "no",
    '{"answer": "Yes", "reason": "no doubt"}': "yes",
    '{"Answer (Yes/No)": "No"}': "no",
    "<think>no no no</think>Yes": "yes",
    "I looked at all frames.\nThe cat stays.\nYes": "yes",
    "The answer is yes": "yes",
    "The answer is: no": "no",
    "The answer is no because it left": "no",
    "No - it has vanished": "no",
    # texts without an answer
    "No-one can tell what happened.": None,
    "No–one can tell": None,
    "No. 5 is the cat": None,
    "The answer is no longer visible.": None,
    "Answer: no one knows": None,
    "Answer: Yes/No": None,
    "Answer: yes. On reflection the answer is no longer clear": None,
    "": None,
    "Maybe": None,
    "There is no sign of the cat.": None,
    "yes and no": None,
    "Yesterday it was there": None,
    "Nobody knows": None,
    "Answer: yes. On reflection the answer is no": None,
    '{"answer": "perhaps"}': None,
    "<html><body>No</body></html>": None,
}


@pytest.mark.parametrize("text", YES_NO)
def test_yes_and_no_are_read_where_the_words_decide_it(text):
    assert parse_yes_no(text) == YES_NO[text]


RATINGS = {
    '{"score": 4, "reason": "2 of 3 frames"}': 4,
    '```json\n{"Score": "5"}\n```': 5,
    "3": 3,
    "Score: 2": 2,
    "I give it 4/5.": 4,
    "a rating of 1": 1,
    '{"score": 3.5}': 3.5,
    "6": None,
    "0": None,
    "good": None,
    "between 2/5 and 3/5": None,
    '{"score": null}': None,
    '{"score": true}': None,
    "": None,
}


@pytest.mark.parametrize("text", RATINGS)
def test_ratings_are_read_on_their_scale_only(text):
    assert parse_rating(text) == RATINGS[text]


def test_json_is_found_in_fences_prose_and_small_mistakes():
    for text in ('{"a": 1}', '```json\n{"a": 1}\n```', 'Sure! {"a": 1} Done.', '{"a": 1,}', "{'a': 1}", 'x {"a": 1} {"a": 2}'):
        assert parse_json(text) == {"a": 1}, text
    assert parse_json('text [{"q": "a } in a string"}] end') == [{"q": "a } in a string"}]
    assert parse_json("{'ok': True, 'n': None}") == {"ok": True, "n": None}
    for text in ("", "no json", '{"a": 1', "[1, 2", "{" * 100_000, "[" * 100_000):
        assert parse_json(text) is None


@settings(max_examples=100)
@given(st.text(max_size=300))
def test_any_text_ends_in_an_answer_or_none(text):
    assert parse_yes_no(text) in ("yes", "no", None)
    rating = parse_rating(text)
    assert rating is None or 1 <= rating <= 5
    parse_json(text)


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4))


@settings(max_examples=50)
@given(VALUES)
@example({"<think>": None})
@example(["a mark </think> in a text", "</think>"])
def test_valid_json_is_read_as_json_reads_it(value):
    assert parse_json(json.dumps(value)) == value


def test_fields_are_yes_or_no_only_when_they_say_so():
    assert [as_yes_no(value) for value in (True, False, "Yes", "no.", "true", "maybe", 1, None)] == [
        "yes", "no", "yes", "no", "yes", None, None, None
    ]  # fmt: skip
    assert [as_number(value) for value in (3, "0.5", "x", True, None, float("inf"), "1e999")] == [
        3.0,
        0.5,
        None,
        None,
        None,
        None,
        None,
    ]


HOSTILE = {
    "thoughts that never end": "<think>" * 30_000,
    "spaces after a named answer": "answer is" + " " * 200_000,
    "spaces after a score": "score" + " " * 200_000,
    "stars after a score": "score" + "*" * 200_000,
    "quotes after an answer": "answer" + '"' * 200_000,
    "open brackets": "[{" * 100_000,
    "minus signs": "[" + "-" * 150_000 + "1]",
    "fences": "```{```" * 28_000,
    "commas": "[" + "," * 200_000,
    "hexadecimal digits": "[0x" + "f" * 100_000 + "]",
    "things that JSON does not have": "[{1}, b'x', {(1, 2): 3}]",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_words_are_unread_and_take_no_time(text):
    started = time.process_time()
    assert (parse_json(text), parse_yes_no(text), parse_rating(text)) == (None, None, None)
    assert time.process_time() - started < 10  # a pattern that backtracks would take minutes


@pytest.mark.parametrize("text", ['{"answer": "yes", "note": "\\ud800"}', "{'answer': 'yes', 'note': '\\ud800'}"])
def test_half_a_character_in_a_reply_can_be_written(text):
    value = parse_json(text)
    assert value == {"answer": "yes", "note": "?"}
    json.dumps(value, ensure_ascii=False).encode()


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
