"""From a judge's reply, its words or token scores, to one `Answer` per part of the question.

`interpret` is the way in. It is pure: the same recorded replies give the same answers, live or replayed. A reply that
`judging.reply_text` cannot read has no answer (`judge_unparsed`); it never counts as No.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lookback.errors import Reason
from lookback.judging.question import SECOND, Answer, Part, Question, Reply
from lookback.judging.reply_text import (
    as_confidence,
    as_number,
    as_yes_no,
    identifier,
    json_and_words,
    mappings,
    parse_json,
    parse_rating,
    parse_yes_no,
    table_rows,
)
from lookback.measures.scores import yes_probability

VERBATIM_LIMIT = 4000  # characters of a reply kept in the table; the recording keeps everything
# the answer tokens that WRBench allows: three spellings, with and without a leading space
YES_TOKENS = ("Yes", "yes", "YES", " Yes", " yes", " YES")
NO_TOKENS = ("No", "no", "NO", " No", " no", " NO")
QUESTION_NUMBER = re.compile(r"^(?:question|q|id|#)[\s.:_#-]*", re.IGNORECASE)  # "Q1", "Question 1"
LEAST_MASS = 0.01  # of yes and no together among the candidates for the next token


def interpret(question: Question, replies: Sequence[Reply]) -> list[Answer]:
    """The answer of every part. `replies` holds one reply, or the k sampled replies to a yes/no question."""
    first = replies[0]
    if first.stated is not None:
        return [_stated(part, first) for part in question.parts]
    if question.expects == "yes_no":
        return [_cut_off(_probability(question.parts[0], replies), replies)]
    reader = {"decision": _decision, "rating": _rating, "per_second": _per_second, "table": _table, "questions": _questions}
    return [_cut_off(answer, replies) for answer in reader[question.expects](question, first.text)]


def _cut_off(answer: Answer, replies: Sequence[Reply]) -> Answer:
    """An answer that could not be read because its reply ended at the token limit has that as its reason."""
    if answer.reason != Reason.JUDGE_UNPARSED or not any(reply.truncated for reply in replies):
        return answer
    return replace(answer, reason=Reason.JUDGE_TRUNCATED)


def unanswered(question: Question, reason: Reason, detail: str) -> list[Answer]:
    """Every part of the question without an answer, for the same reason."""
    return [Answer(part, reason=reason, verbatim=detail[:VERBATIM_LIMIT]) for part in question.parts]


def _stated(part: Part, reply: Reply) -> Answer:
    said = (reply.stated or {}).get(part.question_id)
    if said is not None:
        return Answer(part, said.answer, said.value, said.confidence, said.value_from, None, said.because)
    reason, detail = reply.refused.get(part.question_id, (Reason.BACKEND_UNAVAILABLE, "this judge does not answer this question"))
    return Answer(part, reason=Reason(reason), verbatim=detail)


def _probability(part: Part, replies: Sequence[Reply]) -> Answer:
    """p_yes from the token scores; where there are none, the share of Yes among the replies that can be read."""
    first = replies[0]
    probability = None if first.logprobs is None else p_yes(first.logprobs)
    if probability is not None:
        return _probable(part, probability, "logprobs", first.text)
    read = [parse_yes_no(reply.text) for reply in replies]
    said = [answer for answer in read if answer is not None]
    verbatim = first.text if len(replies) == 1 else json.dumps([reply.text for reply in replies], ensure_ascii=False)
    if not said:
        return Answer(part, reason=Reason.JUDGE_UNPARSED, verbatim=verbatim[:VERBATIM_LIMIT])
    # one plain call whose token scores name neither answer: its words count, and nothing was sampled
    value_from = "sampled" if first.logprobs is None else "stated"
    return _probable(part, said.count("yes") / len(said), value_from, verbatim)


def _probable(part: Part, probability: float, value_from: str, verbatim: str) -> Answer:
    answer = "yes" if probability >= 0.5 else "no"
    return Answer(part, answer, probability, max(probability, 1 - probability), value_from, None, verbatim[:VERBATIM_LIMIT])


def _decision(question: Question, text: str) -> list[Answer]:
    """Yes or no with a stated confidence: p_yes = confidence when yes, 1 - confidence when no.

    A decision without one confidence that can be read has p_yes 1 or 0 and no confidence. Two that differ are no answer.
    """
    part, answers, confidences = question.parts[0], set(), set()
    for row in mappings(json_and_words(text)[0]):
        decided = next((row[name] for name in ("trigger", "triggered", "answer") if name in row), None)
        if decided is not None:
            answers.add(as_yes_no(decided))
            confidences.add(as_confidence(row.get("confidence")))
    answer = answers.pop() if len(answers) == 1 else None
    confidence = confidences.pop() if len(confidences) == 1 else None
    if answer is None:
        return [_unparsed(part, text)]
    if confidence is None:
        return [_plain(part, {answer}, text)]
    probability = confidence if answer == "yes" else 1 - confidence
    return [Answer(part, answer, probability, confidence, "stated", None, text[:VERBATIM_LIMIT])]


def _rating(question: Question, text: str) -> list[Answer]:
    part, rating = question.parts[0], parse_rating(text)
    if rating is None:
        return [_unparsed(part, text)]
    return [Answer(part, f"{rating:g}", rating, None, "stated", None, text[:VERBATIM_LIMIT])]


def _per_second(question: Question, text: str) -> list[Answer]:
    """One answer per row that the judge wrote, in order of the seconds, and one per flag about the whole clip.

    A judge that lists five seconds of six has answered for five, as in the released program. Where no row can be read, all seconds
    asked about are unparsed. A second of which no frame was shown has no answer at all: whatever the judge says, it saw nothing.
    """
    values = json_and_words(text)[0]
    seconds = {part.question_id: part for part in question.parts if part.question_id.startswith(SECOND)}
    unseen, answers = set(question.unseen_seconds), []
    for second, rows in sorted(_rows_of_seconds(values).items()):
        name = f"{SECOND}{second:03d}"
        part = seconds.get(name) or Part(name, question.parts[0].text)  # the judge may count further than the clip lasts
        for number, (answer, note) in enumerate(rows if second not in unseen else (), start=1):
            own = part if number == 1 else replace(part, question_id=f"{name}.{number:02d}")
            answers.append(_plain(own, {answer} if answer else set(), note or text))
    if not answers:
        answers = [_unparsed(part, text) for name, part in seconds.items() if int(name.removeprefix(SECOND)) not in unseen]
    gates = [row["gate"] for row in mappings(values) if isinstance(row.get("gate"), dict)]
    for part in (part for part in question.parts if part.question_id not in seconds):
        flags = {as_yes_no(gate.get(part.question_id)) for gate in gates}
        answers.append(_plain(part, {flag for flag in flags if flag is not None}, text))
    return answers


def _rows_of_seconds(values: Sequence[Any]) -> dict[int, list[tuple[str, str]]]:
    """Second -> its rows, each (answer or "", note), in the order of the reply. Nothing where a row does not say its second.

    Tables that disagree about a second leave it with one row that has no answer.
    """
    said: dict[int, list[tuple[str, str]]] = {}
    for value in values:
        table: dict[int, list[tuple[str, str]]] = {}
        for row in table_rows([value]):
            if "judgeable" not in row or any(isinstance(content, list) for content in row.values()):
                continue  # what holds the rows
            second = as_number(row.get("second", row.get("sec")))
            if second is None:
                return {}
            table.setdefault(int(second), []).append((as_yes_no(row["judgeable"]) or "", str(row.get("note", ""))))
        for number, rows in table.items():
            if [answer for answer, _ in said.setdefault(number, rows)] != [answer for answer, _ in rows]:
                said[number] = [("", "")]
    return said


def _table(question: Question, text: str) -> list[Answer]:
    """MemoBench's answer table: rows with ID and Answer (or "Answer (Yes/No)"); ids may be numbers or text, also "Q1" for 1.

    More forms are read than by the released llm-vqa.py, which takes one JSON list with exactly these keys and drops a clip whose
    reply is anything else. How the answers count is decided by the metric (`vqa_pass_rate`).
    """
    ids = [part.question_id.rpartition(".")[2] for part in question.parts]  # a part's id ends with the id in the question bank
    said: dict[str, set[str]] = {}
    words: dict[str, str] = {}
    for row in table_rows(json_and_words(text)[0]):
        name = identifier(row.get("id"))
        name = name if name in ids else QUESTION_NUMBER.sub("", name)
        for answer in (as_yes_no(row.get(key)) for key in ("answer", "answer (yes/no)")):
            if answer is not None:
                said.setdefault(name, set()).add(answer)
                words[name] = json.dumps(row, ensure_ascii=False, sort_keys=True)
    return [_plain(part, said.get(name, set()), words.get(name) or text) for part, name in zip(question.parts, ids, strict=True)]


def _questions(question: Question, text: str) -> list[Answer]:
    """A generated question bank: only whether it is JSON. MemoBench's own code reads the bank itself."""
    part, value = question.parts[0], parse_json(text)
    if not isinstance(value, list | dict):
        return [_unparsed(part, text)]
    return [Answer(part, "yes", 1.0, None, "stated", None, text)]


def _plain(part: Part, answers: set[str], words: str) -> Answer:
    if len(answers) != 1:
        return _unparsed(part, words)
    answer = next(iter(answers))
    return Answer(part, answer, 1.0 if answer == "yes" else 0.0, None, "stated", None, words[:VERBATIM_LIMIT])


def _unparsed(part: Part, text: str) -> Answer:
    return Answer(part, reason=Reason.JUDGE_UNPARSED, verbatim=text[:VERBATIM_LIMIT])


def p_yes(candidates: Sequence[tuple[str, float]]) -> float | None:
    """The probability of Yes from token scores (WRBench eq. 4): exp L_yes / (exp L_yes + exp L_no).

    L is the log-sum-exp over the allowed tokens among the candidates of the answer. A side without a candidate has L = -inf; None
    when both sides have none.
    """
    yes = [score for token, score in candidates if token in YES_TOKENS]
    no = [score for token, score in candidates if token in NO_TOKENS]
    if max((*yes, *no), default=-math.inf) == -math.inf:
        return None
    return yes_probability(yes or [-math.inf], no or [-math.inf])


def is_likely(candidates: Sequence[tuple[str, float]] | None) -> bool:
    """Whether a model is about to say yes or no. If not, its next token begins a thought or a sentence."""
    return sum(math.exp(min(score, 0.0)) for _, score in candidates or ()) >= LEAST_MASS


def is_cut_short(reply: Reply) -> bool:
    """Whether a reply to a yes/no question ended at its limit before the answer: the model thinks first, in words or unseen."""
    return reply.truncated and reply.logprobs is None and parse_yes_no(reply.text) is None
