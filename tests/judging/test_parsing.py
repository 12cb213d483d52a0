"""Reading a judge's words: strict, then lenient, and never a guessed No."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lookback.judging.parsing import as_number, as_yes_no, parse_json, parse_rating, parse_yes_no

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
    # what decides nothing
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


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_any_text_ends_in_an_answer_or_none(text):
    assert parse_yes_no(text) in ("yes", "no", None)
    rating = parse_rating(text)
    assert rating is None or 1 <= rating <= 5
    parse_json(text)


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4))


@settings(max_examples=50, deadline=None)
@given(VALUES)
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
    assert time.process_time() - started < 10  # minutes, where a pattern tries every way to divide the text


@pytest.mark.parametrize("text", ['{"answer": "yes", "note": "\\ud800"}', "{'answer': 'yes', 'note': '\\ud800'}"])
def test_half_a_character_in_a_reply_can_be_written(text):
    value = parse_json(text)
    assert value == {"answer": "yes", "note": "?"}
    json.dumps(value, ensure_ascii=False).encode()
