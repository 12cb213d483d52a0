"""Read the text of a judge's reply: its JSON and the words around it, yes or no, ratings and numbers.

All statements of a text are collected, and only what none of them contradicts counts. Where a text is unclear there is no value.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Sequence, Set
from typing import Any, Literal

from lookback import json_text

YesNo = Literal["yes", "no"]

BOOLEANS: dict[str, YesNo] = {"true": "yes", "false": "no"}
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
THINK, THOUGHT = "<think>", "</think>"  # around what a model writes before its answer
MOST_BRACKETS = 500  # brackets of a reply that are tried; no useful reply has more
LONGEST = 200_000  # characters that are read; no useful reply is longer


def parse_json(text: str) -> Any | None:
    """The JSON value of a reply: the whole text, else the first mapping or table in it, else the first value in brackets."""
    text = _unwrapped(text)
    if _is_json(text):
        return _writable(json.loads(text))
    values = json_and_words(text)[0]
    return next((value for value in values if mappings([value])), values[0] if values else None)


def json_and_words(text: str) -> tuple[list[Any], str]:
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
        json_text.check_depth(text[start:])
        value, end = json.JSONDecoder().raw_decode(text, start)
        return _writable(value), end
    except ValueError:
        pass
    if end is None or not JSON_BEGINS.match(text, start):
        return None
    repaired = TRAILING_COMMA.sub(r"\1", text[start:end])
    try:
        return _writable(json_text.loads(repaired)), end
    except ValueError:
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
        json_text.loads(text)
    except ValueError:
        return False
    return True


def _without_thinking(text: str) -> str:
    """The reply without its <think>...</think> passages and the white space around it.

    Some chat templates write <think> themselves, so that a reply has only the closing mark. A passage that was never closed was
    cut off: nothing in it is an answer. Inside JSON, alone or between fences, the marks are words of its texts.
    """
    text, said, place = text[:LONGEST], [], 0
    if _is_json(text):
        return text.strip()
    marks = FENCE.sub(lambda fence: " " * len(fence[0]) if _is_json(fence[1]) else fence[0], text)
    first_end = marks.find(THOUGHT)
    if first_end >= 0 and not 0 <= marks.find(THINK) < first_end:
        place = first_end + len(THOUGHT)
    while (start := marks.find(THINK, place)) >= 0:
        said.append(text[place:start])
        end = marks.find(THOUGHT, start)
        place = len(text) if end < 0 else end + len(THOUGHT)
    return "".join([*said, text[place:]]).strip()


def _unwrapped(text: str) -> str:
    """The reply without its thoughts and without the fences around code."""
    text = _without_thinking(text)
    return text if _is_json(text) else FENCE.sub(r"\1", text).strip()


def mappings(values: Sequence[Any]) -> list[dict[str, Any]]:
    """The mappings among JSON values: alone, one per line, or as entries of a list. Their keys are in lower case."""
    entries = [entry for value in values for entry in (value if isinstance(value, list) else [value])]
    return [{str(key).strip().lower(): content for key, content in entry.items()} for entry in entries if isinstance(entry, dict)]


def table_rows(values: Sequence[Any]) -> list[dict[str, Any]]:
    """The rows of tables among JSON values: mappings, the mappings in their lists, and lists of cells under `columns`."""
    rows = []
    for found in mappings(values):
        columns = [str(name) for name in found["columns"]] if isinstance(found.get("columns"), list) else []
        for content in (content for content in found.values() if isinstance(content, list)):
            named = [dict(zip(columns, row, strict=True)) for row in content if isinstance(row, list) and len(row) == len(columns)]
            rows += mappings([content, named])
        rows.append(found)
    return rows


def parse_yes_no(text: str) -> YesNo | None:
    """Yes or no from a plain or JSON reply; None where the words are unclear ("yes and no", "there is no sign of ...").

    A reply that says both, such as one that corrects itself, has no answer.
    """
    values, words = json_and_words(text)
    named = [(key, as_yes_no(row[key])) for row in mappings(values) for key in row if "answer" in key]
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


def parse_rating(text: str) -> float | None:
    """A rating from a JSON reply, a bare number ("4", "4/5") or "score: 4"; None off the scale or when two ratings differ.

    A number inside a sentence is no rating: the sentence may repeat the scale, count frames or speak of another clip.
    """
    values, words = json_and_words(text)
    found = {_rated(str(row[key])) for row in mappings(values) for key in ("score", "rating") if key in row}
    found |= {None if match.group(1) is None else float(match.group(1)) for match in SCORE.finditer(words)}
    found |= {number} if (number := _rated(words)) is not None else set()
    number = found.pop() if len(found) == 1 else None
    return number if number is not None and 1 <= number <= 5 else None


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
