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
from lookback.judging.parsing import interpret
from lookback.judging.question import Part, Question, Reply, Stated
from lookback.judging.reply_text import as_number, as_yes_no, parse_json, parse_rating, parse_yes_no

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
    # markdown, quotes and brackets around the answer
    "**Answer:** No": "no",
    "**Answer**: No": "no",
    "**Final answer:** Yes": "yes",
    "_No_": "no",
    "__Yes__": "yes",
    "- No": "no",
    "> Yes": "yes",
    "# No": "no",
    "“No”": "no",
    "‘Yes’": "yes",
    "«No»": "no",
    "*“Yes.”*": "yes",
    "`no`": "no",
    "```\nNo\n```": "no",
    "```No```": "no",
    "(Yes)": "yes",
    "[No]": "no",
    "<answer>No</answer>": "no",
    "Looking at the frames, it stays. <answer> Yes </answer>": "yes",
    "Answer:\nNo": "no",
    "Answer：No": "no",
    # an answer with more words
    "No (0.9)": "no",
    "Yes (high confidence)": "yes",
    "No it does not.": "no",
    "No it doesn't, because it left": "no",
    "Yes it does.": "yes",
    "Yes\n\nThe mug stays on the table.": "yes",
    "No, there is no mug.": "no",
    "Yes. No other object moves.": "yes",
    '{"answer": "No, it does not"}': "no",
    '[Frame at 0.00 s] shows a mug. {"answer": "yes"}': "yes",
    '{"answer": "yes", "answer_reason": "the cat stays"}': "yes",
    "Yes\nYes": "yes",
    # an answer that is corrected, and other contradictions
    "Yes, the person leaves. But he never returns, so the answer is **No**.": None,
    "Yes.\n\nHowever, on a closer look the mug is gone. Therefore, the answer is no.": None,
    "Yes. Wait, no.": None,
    "Yes; no": None,
    "No.\nYes": None,
    "No\n\nExplanation: the answer is yes only if the cat returns": None,
    '{"answer": "Yes"}\nOn reflection: {"answer": "No"}': None,
    '{"answer": "Yes", "final_answer": "No"}': None,
    '{"answer": "yes"} No, the answer is no.': None,
    "Is the cat there? Yes. Is it the same cat? No.": None,
    "No it does": None,
    "Yes it does not": None,
    "No, I cannot determine that; I am sorry": None,
    "No, wait: it is behind the chair.": None,
    "I don't think the answer is yes.": None,
    "If the cat returns, the answer is yes.": None,
    "He never returns, so the answer is no.": "no",
    "I can't answer: no video was given.": None,
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
    '{"score": 3.5}': 3.5,
    '{"score": "4/5"}': 4,
    "{'rating': 2,}": 2,
    '[Frame at 0.00 s] shows ice. {"score": 4}': 4,
    'Frames [1, 2, 3] show ice: {"score": 2, "reason": "half"}': 2,
    '[{"score": 3}]': 3,
    '{"score": 4}\nTo repeat: {"score": 4}': 4,
    "3": 3,
    "4.": 4,
    "**4**": 4,
    "- 4": 4,
    "“4”": 4,
    "4/5": 4,
    "**4 / 5**": 4,
    "4 out of 5.": 4,
    "```\n2\n```": 2,
    "Score: 2": 2,
    "**Score:** 4": 4,
    "**Score**: 4": 4,
    "Rating: **4**": 4,
    "score=4": 4,
    "Score：4": 4,
    "Score: 4/5": 4,
    "Score: 4 out of 5.": 4,
    '{"score": 4} The score is high because the ice melts.': 4,
    "```4```": 4,
    "Final score: 3\nThe ice is half gone.": 3,
    "The ice melts. The overall score is 3.": 3,
    "Therefore, the score is **2**.": 2,
    "Score: 4. Two frames show no ice.": 4,
    "Score:\n4": 4,
    # off the scale, or no rating
    "6": None,
    "0": None,
    "-3": None,
    "good": None,
    "": None,
    "8/10": None,
    "Score: 4/10": None,
    "Score: 4/50": None,
    '{"score": "4/10"}': None,
    '{"score": null}': None,
    '{"score": true}': None,
    '{"score": 9}': None,
    "Score: four": None,
    # two ratings, or a range
    "between 2/5 and 3/5": None,
    "Score: 3-4": None,
    "Score: 3 to 4": None,
    "Score: 3 or 4": None,
    "Score: 2\nOn reflection:\nScore: 4": None,
    '{"score": 2} No, rather {"score": 4}': None,
    '{"score": 2}\nScore: 4': None,
    # the words of the scale, counted frames, sentences that may mean something else
    "A score of 1 denotes a complete violation of physics, whereas a 5 is perfect, so I would give this a 4.": None,
    "On the scale (score of 1 means none), this is a 4.": None,
    "The ice melts in 3 out of 5 key frames. Overall: five.": None,
    "Score: 4 out of 5 frames show melting": None,
    "Score: 4/5 of the ice is gone": None,
    "4 out of 5 frames show melting, so I give a low rating.": None,
    "The lowest score is 1. This clip is far better.": None,
    "It does not deserve a score of 5.": None,
    "Frame 1 score: 3\nFrame 2 score: 3\nOverall five": None,
    "I give it 4/5.": None,
    "a rating of 1": None,
    "Score: 4 means nearly done": None,
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
    "lists in words": "[a" * 60_000 + "]" * 60_000,
    "lists of one": "[1," * 60_000,
    "empty lines": "x." + "\n" * 150_000 + "x",
    "dashes on lines": "x\n- " * 40_000,
    "words before a score": "so the " * 28_000 + "\nso the " * 2,
    "quotes after yes": "yes" + '"' * 150_000 + "x",
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


YES = '{"trigger": true, "confidence": 0.9}'
NO = '{"trigger": false, "confidence": 0.9}'
DECISIONS = {
    YES: ("yes", 0.9),
    NO: ("no", 0.1),
    f"```json\n{YES}\n```": ("yes", 0.9),
    f"Sure! {NO} Done.": ("no", 0.1),
    '{"Trigger": "Yes", "Confidence": "0.9"}': ("yes", 0.9),
    '{"triggered": "no.", "confidence": 0.9}': ("no", 0.1),
    '{"answer": "No, nobody leaves", "confidence": 0.9}': ("no", 0.1),
    "{'trigger': True, 'confidence': 0.9}": ("yes", 0.9),
    '{"trigger": true, "confidence": 0.9,}': ("yes", 0.9),
    '{"trigger": "true", "confidence": 0.9}': ("yes", 0.9),
    f"[{YES}]": ("yes", 0.9),
    f"<think>{NO}</think>{YES}": ("yes", 0.9),
    f"{YES}\nSo my answer stays {YES}": ("yes", 0.9),
    # a bracket in the words before
    f"[Frame at 0.00 s] shows a mug. {YES}": ("yes", 0.9),
    f"Looking at frames [1, 2, 3]: {YES}": ("yes", 0.9),
    f"In the set {{mug, table}} nothing leaves. {NO}": ("no", 0.1),
    f'{{"frames": 8}}\n{YES}': ("yes", 0.9),
    f'The 5" mug [not the 7" one] leaves: {YES}': ("yes", 0.9),
    f"[note: {YES}]": ("yes", 0.9),
    f"The confidence is in [0, 1). {YES}": ("yes", 0.9),
    f"1) He leaves. 2) He returns. ```\n{YES}\n``` I hope this helps :-]": ("yes", 0.9),
    # per cent
    '{"trigger": true, "confidence": 95}': ("yes", 0.95),
    '{"trigger": false, "confidence": "95%"}': ("no", 0.05),
    '{"trigger": true, "confidence": "60.5 %"}': ("yes", 0.605),
    '{"trigger": true, "confidence": 100}': ("yes", 1.0),
    '{"trigger": true, "confidence": 1}': ("yes", 1.0),
    '{"trigger": true, "confidence": "0.5%"}': ("yes", 0.005),
    '{"trigger": false, "confidence": 0}': ("no", 1.0),
    # a confidence that is missing or on an unknown scale: the decision counts
    '{"trigger": "yes"}': ("yes", None),
    '{"trigger": false}': ("no", None),
    '{"trigger": true, "confidence": "high"}': ("yes", None),
    '{"trigger": true, "confidence": null}': ("yes", None),
    '{"trigger": true, "confidence": 7}': ("yes", None),
    '{"trigger": true, "confidence": -1}': ("yes", None),
    '{"trigger": false, "confidence": 700}': ("no", None),
    # no decision
    "": None,
    "trigger": None,
    "[1]": None,
    "Yes": None,
    '{"confidence": 0.9}': None,
    '{"trigger": "maybe", "confidence": 0.5}': None,
    '{"trigger": null, "confidence": 0.5}': None,
    '{"trigger": true, "confidence": 0.9': None,
    '{"trigger": "yes and no", "confidence": 0.9}': None,
    # a decision that is corrected, or that was about to be
    f"Draft: {YES} On reflection he never comes back. Final: {NO}": None,
    f"```json\n{YES}\n```\nWait, nobody leaves.\n```json\n{NO}\n```": None,
    f'{YES}\nRather: {{"trigger": "unclear", "confidence": 0.5}}': None,
    f'{YES}\n{{"trigger": true, "confidence": 0.6}}': ("yes", None),
    f'{YES}\nNo, rather: {{"trigger": fal': None,
    f"[{YES}, {NO}]": None,
}


@pytest.mark.parametrize("text", DECISIONS)
def test_decisions_are_read_with_their_confidence_or_without(ask, text):
    answer = ask("decision", text)[0]
    said = DECISIONS[text]
    if said is None:
        assert (answer.reason, answer.value, answer.verbatim) == (Reason.JUDGE_UNPARSED, None, text)
    elif said[1] is None:
        assert (answer.answer, answer.value, answer.confidence) == (said[0], float(said[0] == "yes"), None)
    else:
        value = pytest.approx(said[1])
        assert (answer.answer, answer.value, answer.value_from) == (said[0], value, "stated")
        assert answer.confidence == (value if said[0] == "yes" else pytest.approx(1 - said[1]))


def test_one_plain_reply_without_usable_scores_is_stated_not_sampled(ask):
    answer = ask("yes_no", "**Yes**", logprobs=(("**Yes", -0.1),))[0]
    assert (answer.answer, answer.value, answer.value_from) == ("yes", 1.0, "stated")


def test_a_judge_that_is_in_two_minds_says_yes_with_a_half(ask):
    answer = ask("yes_no", "Yes", logprobs=(("Yes", -0.7), ("No", -0.7)))[0]
    assert (answer.answer, answer.value, answer.confidence) == ("yes", 0.5, 0.5)


def test_ratings_keep_the_scale(ask):
    assert ask("rating", '{"score": 4, "reason": "almost done"}')[0].value == 4
    assert ask("rating", '{"score": 9}')[0].reason == Reason.JUDGE_UNPARSED


def row(second, judgeable, **more):
    return {"sec": second, "judgeable": judgeable, "note": f"note {second}", **more}


SECONDS = {  # rows of the reply -> (the second, the answer) of each recorded part
    "one left out": ([row(0, "yes"), row("1", False)], [("000", "yes"), ("001", "no")]),
    "in another order": ([row(2, "yes"), row(0, "yes"), row(1, "no")], [("000", "yes"), ("001", "no"), ("002", "yes")]),
    "counted from 1": ([row(n, "no") for n in (1, 2, 3, 4)], [(f"{n:03d}", "no") for n in (1, 2, 3, 4)]),
    "half seconds": ([row(0, "yes"), row(0.5, "no"), row(1, "yes")], [("000", "yes"), ("000.02", "no"), ("001", "yes")]),
    "a second that is unclear": ([row(0, "yes"), row(1, "maybe")], [("000", "yes"), ("001", "")]),
    "a row without a second": ([row(0, "yes"), row(None, "no")], [(f"{n:03d}", "") for n in range(4)]),
    "no rows": ([], [(f"{n:03d}", "") for n in range(4)]),
}


@pytest.mark.parametrize("name", SECONDS)
def test_the_rows_of_seconds_are_kept_as_they_come(ask, name):
    """As in the released program: a judge that lists three seconds of four has answered for three."""
    rows, expected = SECONDS[name]
    parts = [Part(f"second_{n:03d}", "?", 8 * n) for n in range(4)]
    answers = ask("per_second", json.dumps({"judgeable": "yes", "per_second": rows}), parts)
    assert [(answer.part.question_id.removeprefix("second_"), answer.answer) for answer in answers] == expected
    assert all((answer.reason is None) == bool(answer.answer) for answer in answers)
    frames = {part.question_id: part.frame for part in parts}
    assert all(answer.part.frame == frames.get(answer.part.question_id[:10]) for answer in answers)


def test_tables_that_disagree_leave_a_second_unread(ask):
    parts = [Part(f"second_{n:03d}", "?", n) for n in range(2)]
    first, second = [row(0, "yes"), row(1, "no")], [row(0, "yes"), row(1, "yes")]
    for text, expected in (
        (lines({"per_second": first}, {"per_second": second}), ["yes", ""]),
        (lines({"per_second": first}, {"per_second": first}), ["yes", "no"]),
        (lines(*first), ["yes", "no"]),
        (lines(*first, second[1]), ["yes", ""]),
    ):
        assert [answer.answer for answer in ask("per_second", text, parts)] == expected


def test_answer_tables_take_both_keys_and_ids_of_either_type(ask):
    rows = [{"ID": 1, "Answer": "Yes"}, {"ID": "2", "Answer (Yes/No)": "no"}, {"ID": 13.0, "Answer": True}]
    for body in (rows, {"answers": rows}, f"```json\n{json.dumps(rows)}\n```"):
        text = body if isinstance(body, str) else json.dumps(body)
        assert [answer.answer for answer in ask("table", text, bank_parts(BANK))] == ["yes", "no", "yes"]


def lines(*rows):
    return "\n".join(json.dumps(row) for row in rows)


ONE_YES, TWO_NO = {"ID": 1, "Answer": "Yes"}, {"ID": 2, "Answer": "No"}
DIMENSION = {"Dimension": "Physics Adherence", "Question": "Is the answer no?"}
COLUMNS = ["ID", "Question", "Answer"]
BOTH, FIRST, SECOND_ONE, NEITHER = ("yes", "no"), ("yes", ""), ("", "no"), ("", "")
TABLES = {
    json.dumps([ONE_YES, TWO_NO]): BOTH,
    json.dumps([TWO_NO, ONE_YES]): BOTH,
    json.dumps({"answers": [ONE_YES, TWO_NO]}): BOTH,
    f"```json\n{json.dumps([ONE_YES, TWO_NO], indent=1)}\n```": BOTH,
    f"Here is the table:\n{json.dumps([ONE_YES, TWO_NO])}\nI hope it helps.": BOTH,
    f"[Frame 1] is dark. {json.dumps([ONE_YES, TWO_NO])}": BOTH,
    str([{"ID": 1, "Answer": True}, {"ID": 2, "Answer": False}]): BOTH,
    '[{"ID": 1, "Answer": "Yes"}, {"ID": 2, "Answer": "No"},]': BOTH,
    json.dumps([{**DIMENSION, **ONE_YES}, {**DIMENSION, **TWO_NO}]): BOTH,
    f"<think>{json.dumps([{'ID': 1, 'Answer': 'No'}])}</think>{json.dumps([ONE_YES, TWO_NO])}": BOTH,
    # ids
    json.dumps([{"ID": "1", "Answer": "Yes"}, {"ID": 2.0, "Answer": "No"}]): BOTH,
    json.dumps([{"ID": "Q1", "Answer": "Yes"}, {"ID": "q2", "Answer": "No"}]): BOTH,
    json.dumps([{"ID": "Question 1", "Answer": "Yes"}, {"ID": "#2", "Answer": "No"}]): BOTH,
    json.dumps([{"ID": "Q-1", "Answer": "Yes"}, {"ID": "Q.2", "Answer": "No"}]): BOTH,
    json.dumps([{"ID": 11, "Answer": "Yes"}, TWO_NO]): SECOND_ONE,
    json.dumps([{"ID": None, "Answer": "Yes"}, TWO_NO]): SECOND_ONE,
    json.dumps([{"Answer": "Yes"}, TWO_NO]): SECOND_ONE,
    json.dumps([{"ID": "one", "Answer": "Yes"}, TWO_NO]): SECOND_ONE,
    # keys
    json.dumps([{"id": 1, "answer": "yes"}, {"id": 2, "answer": "no"}]): BOTH,
    json.dumps([{"Id": 1, "ANSWER": "YES"}, {" ID ": 2, "Answer ": "NO"}]): BOTH,
    json.dumps([{"ID": 1, "Answer (Yes/No)": "Yes"}, {"ID": 2, "answer (yes/no)": "No"}]): BOTH,
    json.dumps([{"ID": 1, "Verdict": "Pass"}, TWO_NO]): SECOND_ONE,
    json.dumps([{"ID": 1, "Answer": "Yes", "Answer (Yes/No)": "No"}, TWO_NO]): SECOND_ONE,
    # cells
    json.dumps([{"ID": 1, "Answer": "Yes (clearly)"}, {"ID": 2, "Answer": "No - it stays"}]): BOTH,
    json.dumps([{"ID": 1, "Answer": "**Yes**"}, {"ID": 2, "Answer": "No, it does not"}]): BOTH,
    json.dumps([{"ID": 1, "Answer": "Yes."}, {"ID": 2, "Answer": "“No”"}]): BOTH,
    json.dumps([{"ID": 1, "Answer": "Yes/No"}, TWO_NO]): SECOND_ONE,
    json.dumps([{"ID": 1, "Answer": "Partially"}, TWO_NO]): SECOND_ONE,
    json.dumps([ONE_YES, {"ID": 2, "Answer": "no sign of it"}]): FIRST,
    json.dumps([ONE_YES, {"ID": 2, "Answer": "No. Wait, yes."}]): FIRST,
    json.dumps([ONE_YES, {"ID": 2, "Answer": None}]): FIRST,
    json.dumps([ONE_YES, {"ID": 2, "Answer": 0}]): FIRST,
    # other tables
    lines(ONE_YES, TWO_NO): BOTH,
    f"```jsonl\n{lines(ONE_YES, TWO_NO)}\n```": BOTH,
    json.dumps({"columns": COLUMNS, "rows": [ONE_YES, TWO_NO]}): BOTH,
    json.dumps({"columns": COLUMNS, "data": [[1, "?", "Yes"], [2, "?", "No"]]}): BOTH,
    json.dumps({"columns": ["ID", "Answer (Yes/No)"], "rows": [["Q1", "Yes"], ["Q2", "No"]]}): BOTH,
    json.dumps({"columns": COLUMNS, "data": [[1, "?", "Yes"], [2]]}): FIRST,
    json.dumps({"columns": COLUMNS, "data": [[1, "?", "Yes"], [2, "No", "No", "?"]]}): FIRST,
    json.dumps({"columns": [{"name": "ID"}, {"name": "Answer"}], "data": [[1, "Yes"], [2, "No"]]}): NEITHER,
    json.dumps({"notes": ["dark"], "summary": [{"passed": 2}], "answers": [ONE_YES, TWO_NO]}): BOTH,
    json.dumps(ONE_YES): FIRST,
    # contradictions, and what was cut off
    json.dumps([ONE_YES, {"ID": 1, "Answer": "No"}, TWO_NO]): SECOND_ONE,
    f"{json.dumps([ONE_YES, TWO_NO])} Corrected: {json.dumps([{'ID': 1, 'Answer': 'No'}, TWO_NO])}": SECOND_ONE,
    f"{json.dumps([ONE_YES, TWO_NO])} Once more: {json.dumps([ONE_YES, TWO_NO])}": BOTH,
    json.dumps([ONE_YES, TWO_NO])[:-1]: NEITHER,
    json.dumps([ONE_YES, TWO_NO])[:-12]: NEITHER,
    '[{"ID": 1, "Answer": "Yes"}, {ID: 2, Answer: No}]': NEITHER,
    "": NEITHER,
    "[]": NEITHER,
    "I cannot watch videos.": NEITHER,
    "1. Yes\n2. No": NEITHER,
    json.dumps({"1": "Yes", "2": "No"}): NEITHER,
}


@pytest.mark.parametrize("text", TABLES)
def test_answer_tables_are_read_in_their_common_forms(ask, text):
    answers = ask("table", text, bank_parts(BANK[:2]))
    assert tuple(answer.answer for answer in answers) == TABLES[text]
    assert all((answer.reason is None) == bool(answer.answer) for answer in answers)


def test_a_bank_whose_own_ids_begin_with_q_is_found_by_them(ask):
    bank = [BankQuestion("Q1", "Physics Adherence", "positive", "?"), BankQuestion("1", "Physics Adherence", "positive", "?")]
    answers = ask("table", json.dumps([{"ID": "Q1", "Answer": "No"}, {"ID": 1, "Answer": "Yes"}]), bank_parts(bank))
    assert [answer.answer for answer in answers] == ["no", "yes"]


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
