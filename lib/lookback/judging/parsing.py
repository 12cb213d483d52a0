"""Read a judge's reply: from its words or token scores to one `Answer` per part of the question.

`interpret` is the way in. It is pure: the same recorded replies give the same answers, live or replayed. All statements of
a reply are collected, and only what none of them contradicts counts. An unclear text has no answer (`judge_unparsed`), never No.
"""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any, Literal

from lookback.errors import Reason
from lookback.judging.question import SECOND, Answer, Part, Question, Reply
from lookback.measures.scores import yes_probability

YesNo = Literal["yes", "no"]

BOOLEANS: dict[str, YesNo] = {"true": "yes", "false": "no"}
VERBATIM_LIMIT = 4000  # characters of a reply kept in the table; the recording keeps everything
# the answer tokens that WRBench allows: three spellings, with and without a leading space
YES_TOKENS = ("Yes", "yes", "YES", " Yes", " yes", " YES")
NO_TOKENS = ("No", "no", "NO", " No", " no", " NO")
FENCE = re.compile(r"```(?:[a-zA-Z0-9]*[ \t]*\n)?(.*?)```", re.DOTALL)
TRAILING_COMMA = re.compile(r",(\s*[}\]])")
BRACKET, MARKS = re.compile(r"[{\[]"), re.compile(r"""\\.|["{}\[\]]""", re.DOTALL)
JSON_BEGINS = re.compile(r"""[{\[]\s*["'{\[]""")  # other brackets, such as [Frame 1] or [0, 1), are words
# possessive quantifiers (with a plus) do not backtrack, and what may begin anywhere has a limit: a hundred thousand spaces would
# otherwise take for ever
QUOTES = r"""["'“”‘’«»*_`~]*+"""  # quotes and markdown around a word
DECORATION = r"""[\s\u200b"'“”‘’«»*_`#>~]{0,99}+"""  # white space, quotes and markdown that may come before an answer
OPENING = rf"{DECORATION}(?:[-•]\s{DECORATION})?+(?:[(\[]{DECORATION})?+"  # a list item or a bracket, too
ENDING = r"""[\s"'“”‘’«»*_`~)\]]*+"""
BARE = re.compile(rf"^{OPENING}(yes|no){ENDING}[.!。]*+{ENDING}$", re.IGNORECASE)
IN_LINE = r"""["'“”‘’«»*_`~)\]]*+[^\S\n]*+"""
# what may end the word: "No - it" and "No: it" are answers, "No-one" and "No. 5" are not
CLOSED = IN_LINE + r"""(?:[,:;!\n—。]|\.(?!\s*\d)|[–-](?!\w)|</|$|\()"""
PRONOUN = r"\s++(?:it|he|she|they|there|this|that)\s++"
AGREES = rf"{PRONOUN}(?:does|do|did|is|are|was|were|has|have|had|can|could|will|would)"  # "Yes it does", "No it does not"
SAYS = rf"(?:(?:yes|no)(?:{CLOSED})|yes(?={AGREES}\s*+[.,;!\n]|{AGREES}$)|no(?={AGREES}(?:\s++not|n['’]t)\b))"
LEADING = re.compile(rf"^{OPENING}(?={SAYS})(yes|no)", re.IGNORECASE)
# a further answer in the text, which may contradict the first one: "Yes. Wait, no."
FURTHER = re.compile(rf"[.!?;,:\n—–]{OPENING}(?={SAYS})(yes|no)", re.IGNORECASE)
# the second group is empty where the sentence goes on ("the answer is no longer visible")
NAMED = re.compile(
    rf"\banswer{QUOTES}\s*+(?:is(?:\s*+:)?|[:：=]|>){DECORATION}(yes|no)\b({CLOSED}|\s++(?:because|since|as)\b)?", re.IGNORECASE
)
# words that take an answer back, or say that it depends: "I cannot tell", "if it returns, the answer is"
UNDECIDED = re.compile(
    r"\bI\s+(?:can(?:no|['’])t|can not|am unable to)\s+(?:determine|tell|answer|judge|assess|say)\b"
    r"|(?:\bnot|\bcannot|n['’]t)\s+(?:think|believe|say|mean|conclude)\b[^.;,\n]{0,20}\banswer\b"
    r"|\b(?:if|unless)\b[^.;!?\n]{0,100}\banswer\s+is\b|\bno\s+answer\b|\bwait\s*[,.:!…—–-]|\bscratch that\b",
    re.IGNORECASE,
)
NUMBER = r"(\d++(?:\.\d++)?+)"
OF_FIVE = rf"(?:\s*+(?:/|out\s++of)\s*+5(?![\d.]*\d))?+{IN_LINE}"
BARE_RATING = re.compile(rf"^{OPENING}{NUMBER}{OF_FIVE}[.!。]*+{ENDING}$", re.IGNORECASE)
# "score: 4" as a statement of its own: words before it ("the lowest score", "frame 2 score") would change what it says
SCORE = re.compile(
    rf"(?:^|[.!\n]){OPENING}(?:(?:so|thus|therefore|hence|my|the|final|overall|total|state|progress|correctness),? ){{0,5}}+"
    rf"(?:score|rating){QUOTES}\s*+(?:is\b(?:\s*+:)?|[:：=]){DECORATION}(?=\d)(?:{NUMBER}{OF_FIVE}(?=$|\n|[.!。](?:\s|$)))?",
    re.IGNORECASE,
)
PER_CENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")
QUESTION_NUMBER = re.compile(r"^(?:question|q|id|#)[\s.:_#-]*", re.IGNORECASE)  # "Q1", "Question 1"
LEAST_MASS = 0.01  # of yes and no together among the candidates for the next token
THINK, THOUGHT = "<think>", "</think>"  # around what a model writes before its answer
MOST_BRACKETS = 500  # brackets of a reply that are tried; no useful reply has more
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
    """Yes or no with a stated confidence: p_yes = confidence when yes, 1 - confidence when no.

    A decision without one confidence that can be read has p_yes 1 or 0 and no confidence. Two that differ are no answer.
    """
    part, answers, confidences = question.parts[0], set(), set()
    for row in _mappings(_json_and_words(text)[0]):
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
    """One yes/no per whole second. A second that is missing, or that has two different answers, counts as unparsed.

    A second of which no frame was shown has no answer at all: whatever the judge says about it, it saw nothing.
    """
    values = _json_and_words(text)[0]
    said: dict[str, set[str]] = {}
    notes: dict[str, str] = {}
    for row in _rows(values):
        second = as_number(row.get("second", row.get("sec")))
        judgeable = as_yes_no(row.get("judgeable"))
        if second is not None and judgeable is not None:
            name = f"{SECOND}{int(second):03d}"
            said.setdefault(name, set()).add(judgeable)
            notes[name] = str(row.get("note", ""))
    for row in _mappings(values):
        gate = row.get("gate")
        for name, flag in gate.items() if isinstance(gate, dict) else ():  # flags about the whole clip
            said.setdefault(str(name), set()).update({answer} if (answer := as_yes_no(flag)) is not None else ())
    unseen = {f"{SECOND}{second:03d}" for second in question.unseen_seconds}
    asked = [part for part in question.parts if part.question_id not in unseen]
    return [_plain(part, said.get(part.question_id, set()), notes.get(part.question_id) or text) for part in asked]


def _table(question: Question, text: str) -> list[Answer]:
    """MemoBench's answer table: rows with ID and Answer (or "Answer (Yes/No)"); ids may be numbers or text, also "Q1" for 1.

    More forms are read than by the released llm-vqa.py, which takes one JSON list with exactly these keys and drops a clip whose
    reply is anything else. How the answers count is decided by the metric (`vqa_pass_rate`).
    """
    ids = [part.question_id.rpartition(".")[2] for part in question.parts]  # a part's id ends with the id in the question bank
    said: dict[str, set[str]] = {}
    words: dict[str, str] = {}
    for row in _rows(_json_and_words(text)[0]):
        name = identifier(row.get("id"))
        name = name if name in ids else QUESTION_NUMBER.sub("", name)
        for answer in (as_yes_no(row.get(key)) for key in ("answer", "answer (yes/no)")):
            if answer is not None:
                said.setdefault(name, set()).add(answer)
                words[name] = json.dumps(row, ensure_ascii=False, sort_keys=True)
    return [_plain(part, said.get(name, set()), words.get(name) or text) for part, name in zip(question.parts, ids, strict=True)]


def _mappings(values: Sequence[Any]) -> list[dict[str, Any]]:
    """The mappings among JSON values: alone, one per line, or as entries of a list. Their keys are in lower case."""
    entries = [entry for value in values for entry in (value if isinstance(value, list) else [value])]
    return [{str(key).strip().lower(): content for key, content in entry.items()} for entry in entries if isinstance(entry, dict)]


def _rows(values: Sequence[Any]) -> list[dict[str, Any]]:
    """The rows of tables among JSON values: mappings, the mappings in their lists, and lists of cells under `columns`."""
    rows = []
    for found in _mappings(values):
        columns = [str(name) for name in found["columns"]] if isinstance(found.get("columns"), list) else []
        for content in (content for content in found.values() if isinstance(content, list)):
            named = [dict(zip(columns, row, strict=True)) for row in content if isinstance(row, list) and len(row) == len(columns)]
            rows += _mappings([content, named])
        rows.append(found)
    return rows


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


def parse_json(text: str) -> Any | None:
    """The JSON value of a reply: the whole text, else the first mapping or table in it, else the first value in brackets."""
    text = _unwrapped(text)
    if _is_json(text):
        return _writable(json.loads(text))
    values = _json_and_words(text)[0]
    return next((value for value in values if _mappings([value])), values[0] if values else None)


def _json_and_words(text: str) -> tuple[list[Any], str]:
    """All lists and mappings of a reply, with small repairs, and the words around them.

    A reply that was cut off inside JSON has no values: nobody knows what the rest would have said.
    """
    text = _unwrapped(text)
    values: list[Any] = []
    words: list[str] = []
    closing, place, last = _closing(text), 0, 0
    for _ in range(MOST_BRACKETS):
        if (bracket := BRACKET.search(text, place)) is None:
            return values, "".join([*words, text[last:]])
        start, end = bracket.start(), closing.get(bracket.start())
        if (found := _decoded(text, start, end)) is not None:
            value, place = found
            values.append(value)
            words.append(text[last:start] + "\n")
            last = place
        elif not JSON_BEGINS.match(text, start):
            place = start + 1
        elif end is None:
            break
        else:
            place = end
    return [], text


def _decoded(text: str, start: int, end: int | None) -> tuple[Any, int] | None:
    """The JSON value that starts here, and where it ends."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
        return _writable(value), end
    except (ValueError, RecursionError):
        pass
    if end is None or not JSON_BEGINS.match(text, start):
        return None
    repaired = TRAILING_COMMA.sub(r"\1", text[start:end])
    try:
        return _writable(json.loads(repaired)), end
    except (ValueError, RecursionError):
        value = _python_literal(repaired)
        return None if value is None else (value, end)


def _closing(text: str) -> dict[int, int]:
    """Where the brackets of a text close: place of the bracket -> place behind its end. Brackets inside quotes do not count."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    quoted = False
    for mark in MARKS.finditer(text):
        letter = mark.group()
        if letter == '"':
            quoted = bool(opened) and not quoted
        elif quoted or letter[0] == "\\":
            continue
        elif letter in "{[":
            opened.append(mark.start())
        elif opened:
            ends[opened.pop()] = mark.end()
    return ends


def _python_literal(text: str) -> Any | None:
    """A list or mapping written as Python (single quotes, True, False); only values that JSON can also hold."""
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


def _unwrapped(text: str) -> str:
    """The reply without its thoughts and without the fences around code."""
    text = _without_thinking(text)
    return text if _is_json(text) else FENCE.sub(r"\1", text).strip()


def parse_yes_no(text: str) -> YesNo | None:
    """Yes or no from a plain or JSON reply; None where the words are unclear ("yes and no", "there is no sign of ...").

    A reply that says both, such as one that corrects itself, has no answer.
    """
    values, words = _json_and_words(text)
    named = [(key, as_yes_no(row[key])) for row in _mappings(values) for key in row if "answer" in key]
    return _agreed(words, {answer for key, answer in named if answer is not None or key == "answer"})


def _agreed(words: str, stated: Set[YesNo | None] = frozenset()) -> YesNo | None:
    """The one answer that a text gives in words, together with those of its JSON; None where it gives none, or may give two."""
    if UNDECIDED.search(words):
        return None
    lines = words.splitlines()
    plain = [match for match in (BARE.match(words), LEADING.match(words), BARE.match(lines[-1]) if lines else None) if match]
    named = list(NAMED.finditer(words))
    sure = [*plain, *(match for match in named if match.group(2) is not None)]
    answers = {*stated, *(_yes_no(match.group(1)) for match in (*sure, *named, *FURTHER.finditer(words)))}
    return answers.pop() if len(answers) == 1 and (sure or stated) else None


def is_cut_short(reply: Reply) -> bool:
    """Whether a reply to a yes/no question ended at its limit before the answer: the model thinks first, in words or unseen."""
    return reply.truncated and reply.logprobs is None and parse_yes_no(reply.text) is None


def parse_rating(text: str, low: float = 1.0, high: float = 5.0) -> float | None:
    """A rating from a JSON reply, a bare number ("4", "4/5") or "score: 4"; None off the scale or when two ratings differ.

    A number inside a sentence is no rating: the sentence may repeat the scale, count frames or speak of another clip.
    """
    values, words = _json_and_words(text)
    found = {_rated(str(row[key])) for row in _mappings(values) for key in ("score", "rating") if key in row}
    found |= {None if match.group(1) is None else float(match.group(1)) for match in SCORE.finditer(words)}
    found |= {number} if (number := _rated(words)) is not None else set()
    number = found.pop() if len(found) == 1 else None
    return number if number is not None and low <= number <= high else None


def _rated(text: str) -> float | None:
    """The number of a text that holds nothing else."""
    match = BARE_RATING.match(text)
    return float(match.group(1)) if match else None


def as_yes_no(value: object) -> YesNo | None:
    """The value of a field as yes or no; it may be a boolean, "Yes", "no." or "Yes (clearly)"."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return BOOLEANS.get(value.strip().lower()) or _agreed(value.strip())
    return None


def as_confidence(value: object) -> float | None:
    """A confidence from 0 to 1; per cent are read where they are written so, or where the number can be nothing else.

    A number above 1 and up to 10 is none: 7 may be 7 of 10 or 7 %.
    """
    written = PER_CENT.fullmatch(value) if isinstance(value, str) else None
    number = float(written.group(1)) if written else as_number(value)
    if number is not None and (written or 10 < number <= 100):
        number /= 100
    return number if number is not None and 0 <= number <= 1 else None


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


def identifier(value: object) -> str:
    """An id as text; 3, "3" and 3.0 give the same one."""
    number = as_number(value)
    return str(int(number)) if number is not None and number == int(number) else str(value).strip()
