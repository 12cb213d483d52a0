"""Read a judge's reply: from its words or token scores to one `Answer` per part of the question.

`interpret` is the way in. It is pure: the same recorded replies give the same answers, live or replayed. Text is read strictly
first and then more leniently. Text that stays unclear has no answer (`judge_unparsed`); it never counts as No.
"""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from lookback.errors import Reason
from lookback.judging.question import Answer, Part, Question, Reply
from lookback.measures.scores import yes_probability

YesNo = Literal["yes", "no"]

VERBATIM_LIMIT = 4000  # characters of a reply kept in the table; the recording keeps everything
# the answer tokens that WRBench allows: three spellings, with and without a leading space
YES_TOKENS = ("Yes", "yes", "YES", " Yes", " yes", " YES")
NO_TOKENS = ("No", "no", "NO", " No", " no", " NO")
FENCE = re.compile(r"```[a-zA-Z]*\s*\n?(.*?)```", re.DOTALL)
TRAILING_COMMA = re.compile(r",(\s*[}\]])")
BARE = re.compile(r"""^[\s"'*`(\[]*(yes|no)[\s"'*`)\].!]*$""", re.IGNORECASE)
# what may end the word: "No - it" and "No: it" are answers, "No-one" and "No. 5" are not
CLOSED = r"""["'*`)\]]*\s*(?:[,:;!\n—]|\.(?!\s*\d)|[–-](?!\w))"""
LEADING = re.compile(rf"""^[\s"'*`(\[]*(yes|no){CLOSED}""", re.IGNORECASE)
# the second group is empty where the sentence goes on ("the answer is no longer visible")
# possessive quantifiers (with a plus) do not backtrack: a hundred thousand spaces would otherwise take for ever
NAMED = re.compile(
    rf"""\banswer["'*`]*+\s*+(?:is(?:\s*+:)?|:|=)\s*+["'*`]*+(yes|no)\b(["'*`)\]]*+\s*+$|{CLOSED}|\s++\(|\s++(?:because|since|as)\b)?""",
    re.IGNORECASE,
)
RATING = re.compile(r"""\b(?:score|rating)["'*`]*+(?:\s*+(?:is|of|:|=))?\s*+["'*`]*+(\d+(?:\.\d+)?)\b""", re.IGNORECASE)
OUT_OF_FIVE = re.compile(r"\b(\d+(?:\.\d+)?)\s*(?:/|out of)\s*5\b", re.IGNORECASE)
THINK, THOUGHT = "<think>", "</think>"  # around what a model writes before its answer
MOST_BLOCKS = 20  # fenced blocks of a reply that are tried
LONGEST = 200_000  # characters that are read; no useful reply is longer


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
    """Yes or no with a stated confidence: p_yes = confidence when yes, 1 - confidence when no."""
    part, value = question.parts[0], parse_json(text)
    fields = {str(key).lower(): content for key, content in value.items()} if isinstance(value, dict) else {}
    decided = as_yes_no(fields.get("trigger", fields.get("triggered", fields.get("answer"))))
    confidence = as_number(fields.get("confidence"))
    if decided is None or confidence is None or not 0 <= confidence <= 1:
        return [_unparsed(part, text)]
    probability = confidence if decided == "yes" else 1 - confidence
    return [Answer(part, decided, probability, confidence, "stated", None, text[:VERBATIM_LIMIT])]


def _rating(question: Question, text: str) -> list[Answer]:
    part, rating = question.parts[0], parse_rating(text)
    if rating is None:
        return [_unparsed(part, text)]
    return [Answer(part, f"{rating:g}", rating, None, "stated", None, text[:VERBATIM_LIMIT])]


def _per_second(question: Question, text: str) -> list[Answer]:
    """One yes/no per whole second. A second that is missing, or that has two different answers, counts as unparsed."""
    value = parse_json(text)
    rows = value.get("per_second") if isinstance(value, dict) else value
    said: dict[int, set[str]] = {}
    notes: dict[int, str] = {}
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict):
            continue
        second = as_number(row.get("second", row.get("sec")))
        judgeable = as_yes_no(row.get("judgeable"))
        if second is not None and judgeable is not None:
            said.setdefault(int(second), set()).add(judgeable)
            notes[int(second)] = str(row.get("note", ""))
    gate = value.get("gate") if isinstance(value, dict) else None
    flags = {str(name): as_yes_no(flag) for name, flag in gate.items()} if isinstance(gate, dict) else {}
    answers = []
    for second, part in enumerate(question.parts):
        if part.question_id in flags:  # a flag about the whole clip, behind the seconds
            flag = flags[part.question_id]
            answers.append(_plain(part, set() if flag is None else {flag}, text))
        else:
            answers.append(_plain(part, said.get(second, set()), notes.get(second) or text))
    return answers


def _table(question: Question, text: str) -> list[Answer]:
    """MemoBench's answer table: rows with ID and Answer (or "Answer (Yes/No)"); ids may be numbers or text."""
    value = parse_json(text)
    rows = next((content for content in value.values() if isinstance(content, list)), []) if isinstance(value, dict) else value
    said: dict[str, set[str]] = {}
    words: dict[str, str] = {}
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict) or "ID" not in row:
            continue
        name = identifier(row["ID"])
        answer = as_yes_no(row.get("Answer", row.get("Answer (Yes/No)")))
        if answer is not None:
            said.setdefault(name, set()).add(answer)
            words[name] = json.dumps(row, ensure_ascii=False, sort_keys=True)
    ids = [part.question_id.rpartition(".")[2] for part in question.parts]  # a part's id ends with the id in the question bank
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


def parse_json(text: str) -> Any | None:
    """The JSON value in a reply: the whole text, else a fenced block, else the first value in brackets, with small repairs."""
    text = _without_thinking(text)
    candidates = [text, *(block.strip() for block in FENCE.findall(text)[:MOST_BLOCKS])]
    bracketed = _first_bracketed(text)
    if bracketed:
        candidates.append(bracketed)
    for candidate in candidates:
        try:
            return _writable(json.loads(candidate))
        except (ValueError, RecursionError):
            continue
    for candidate in candidates[1:] or [text]:
        repaired = TRAILING_COMMA.sub(r"\1", candidate)
        try:
            return _writable(json.loads(repaired))
        except (ValueError, RecursionError):
            pass
        if (value := _python_literal(repaired)) is not None:
            return value
    return None


def _python_literal(text: str) -> Any | None:
    """A list or mapping written as Python (single quotes, True, False); only values that JSON can also hold."""
    if not text.startswith(("{", "[")):
        return None
    try:
        with warnings.catch_warnings(action="ignore"):  # Python warns about "\\d" in a text; here it does no harm
            value = ast.literal_eval(text)
        return _writable(json.loads(json.dumps(value)))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def whole_characters(text: str) -> str:
    """The text with a question mark for each half of a surrogate pair: JSON can contain one, but no file can store it."""
    return text.encode("utf-8", "replace").decode()


def _writable(value: Any) -> Any:
    written = json.dumps(value, ensure_ascii=False)
    whole = whole_characters(written)
    return value if whole == written else json.loads(whole)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _without_thinking(text: str) -> str:
    """The reply without its <think>...</think> passages and the white space around it.

    Some chat templates write <think> themselves, so that a reply has only the closing mark. A passage that was never closed was
    cut off: nothing in it is an answer. In a reply that is JSON as a whole, the marks are words in its texts.
    """
    text, said, place = text[:LONGEST], [], 0
    if _is_json(text):
        return text.strip()
    first_end = text.find(THOUGHT)
    if first_end >= 0 and not 0 <= text.find(THINK) < first_end:
        place = first_end + len(THOUGHT)
    while (start := text.find(THINK, place)) >= 0:
        said.append(text[place:start])
        end = text.find(THOUGHT, start)
        place = len(text) if end < 0 else end + len(THOUGHT)
    return "".join([*said, text[place:]]).strip()


def parse_yes_no(text: str) -> YesNo | None:
    """Yes or no from a plain or JSON reply; None where the words are unclear ("yes and no", "there is no sign of ...")."""
    text = _without_thinking(text)
    if match := BARE.match(text):
        return _yes_no(match.group(1))
    value = parse_json(text)
    if isinstance(value, dict):
        found = {parsed for key in value if "answer" in str(key).lower() and (parsed := as_yes_no(value[key])) is not None}
        return found.pop() if len(found) == 1 else None
    if match := LEADING.match(text):
        return _yes_no(match.group(1))
    named = [(_yes_no(match.group(1)), match.group(2)) for match in NAMED.finditer(text)]
    if len({word for word, _ in named}) == 1 and any(closed is not None for _, closed in named):
        return named[0][0]
    last = text.splitlines()[-1] if text else ""
    if match := BARE.match(last):
        return _yes_no(match.group(1))
    return None


def parse_rating(text: str, low: float = 1.0, high: float = 5.0) -> float | None:
    """A rating from a JSON reply, a bare number, "score: 4" or "4/5"; None off the scale or when two ratings differ."""
    text = _without_thinking(text)
    value = parse_json(text)
    if isinstance(value, dict):
        value = next((value[key] for key in value if str(key).lower() in ("score", "rating")), None)
    number = as_number(value)
    if number is None:
        found = {float(match) for pattern in (OUT_OF_FIVE, RATING) for match in pattern.findall(text)}
        number = found.pop() if len(found) == 1 else None
    return number if number is not None and low <= number <= high else None


def as_yes_no(value: object) -> YesNo | None:
    """The value of a field as yes or no; it may be a boolean, "Yes" or "no."."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        if match := BARE.match(value):
            return _yes_no(match.group(1))
        return {"true": "yes", "false": "no"}.get(value.strip().lower())  # type: ignore[return-value]
    return None


def as_number(value: object) -> float | None:
    """The value of a field as a finite number; it may be written as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def _yes_no(word: str) -> YesNo:
    return "yes" if word.lower() == "yes" else "no"


def _first_bracketed(text: str) -> str:
    """The first balanced {...} or [...] of the text, ignoring brackets inside strings; empty when none is closed."""
    start = min((place for place in (text.find("{"), text.find("[")) if place >= 0), default=-1)
    if start < 0:
        return ""
    depth, quoted, escaped = 0, False, False
    for place in range(start, len(text)):
        letter = text[place]
        if quoted:
            quoted = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            quoted = True
        elif letter in "{[":
            depth += 1
        elif letter in "}]":
            depth -= 1
            if depth == 0:
                return text[start : place + 1]
    return ""


def identifier(value: object) -> str:
    """An id as text; 3, "3" and 3.0 give the same one."""
    number = as_number(value)
    return str(int(number)) if number is not None and number == int(number) else str(value).strip()
