"""Reading a judge's words: strictly first, then leniently, and None when they cannot be read. Nothing here guesses a No."""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any, Literal

YesNo = Literal["yes", "no"]

FENCE = re.compile(r"```[a-zA-Z]*\s*\n?(.*?)```", re.DOTALL)
TRAILING_COMMA = re.compile(r",(\s*[}\]])")
BARE = re.compile(r"""^[\s"'*`(\[]*(yes|no)[\s"'*`)\].!]*$""", re.IGNORECASE)
# what ends the word: "No - it", "No: it", but neither "No-one" nor "No. 5"
CLOSED = r"""["'*`)\]]*\s*(?:[,:;!\n—]|\.(?!\s*\d)|[–-](?!\w))"""
LEADING = re.compile(rf"""^[\s"'*`(\[]*(yes|no){CLOSED}""", re.IGNORECASE)
# the second group is missing where the sentence goes on ("the answer is no longer visible")
# the quantifiers with a plus give nothing back: a hundred thousand spaces would otherwise be divided up in every way
NAMED = re.compile(
    rf"""\banswer["'*`]*+\s*+(?:is(?:\s*+:)?|:|=)\s*+["'*`]*+(yes|no)\b(["'*`)\]]*+\s*+$|{CLOSED}|\s++\(|\s++(?:because|since|as)\b)?""",
    re.IGNORECASE,
)
RATING = re.compile(r"""\b(?:score|rating)["'*`]*+(?:\s*+(?:is|of|:|=))?\s*+["'*`]*+(\d+(?:\.\d+)?)\b""", re.IGNORECASE)
OUT_OF_FIVE = re.compile(r"\b(\d+(?:\.\d+)?)\s*(?:/|out of)\s*5\b", re.IGNORECASE)
MOST_BLOCKS = 20  # fenced blocks of a reply that are tried
LONGEST = 200_000  # characters looked at; a judge that writes more than this has lost the thread


def parse_json(text: str) -> Any | None:
    """The JSON value in a reply: the whole text, else a fenced block, else the first bracketed value with small repairs."""
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
    """A list or mapping with single quotes, True and False instead of JSON; only what JSON can also hold."""
    if not text.startswith(("{", "[")):
        return None
    try:
        with warnings.catch_warnings(action="ignore"):  # "\\d" in a text is worth a warning to Python, not to us
            value = ast.literal_eval(text)
        return _writable(json.loads(json.dumps(value)))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def whole_characters(text: str) -> str:
    """The text with a question mark for half a surrogate pair, which JSON can spell and no file can hold."""
    return text.encode("utf-8", "replace").decode()


def _writable(value: Any) -> Any:
    written = json.dumps(value, ensure_ascii=False)
    whole = whole_characters(written)
    return value if whole == written else json.loads(whole)


def _without_thinking(text: str) -> str:
    """The reply without its <think>...</think> passages and the white space around it."""
    text, said, place = text[:LONGEST], [], 0
    while (start := text.find("<think>", place)) >= 0 and (end := text.find("</think>", start)) >= 0:
        said.append(text[place:start])
        place = end + len("</think>")
    return "".join([*said, text[place:]]).strip()


def parse_yes_no(text: str) -> YesNo | None:
    """Yes or no from a plain or JSON reply; None where the words do not decide it ("yes and no", "there is no sign of ...")."""
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
    """A rating on the scale from a JSON reply, a bare number, "score: 4" or "4/5"; None off the scale or when two differ."""
    text = _without_thinking(text)
    value = parse_json(text)
    if isinstance(value, dict):
        value = next((value[key] for key in value if str(key).lower() in ("score", "rating")), None)
    number = as_number(value)
    if number is None:
        found = {float(match) for pattern in (OUT_OF_FIVE, RATING) for match in pattern.findall(text)}
        number = found.pop() if len(found) == 1 else None
    return number if number is not None and low <= number <= high else None


def as_yes_no(value: Any) -> YesNo | None:
    """A field's value as yes or no: booleans, "Yes", "no."."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        if match := BARE.match(value):
            return _yes_no(match.group(1))
        return {"true": "yes", "false": "no"}.get(value.strip().lower())  # type: ignore[return-value]
    return None


def as_number(value: Any) -> float | None:
    """A field's value as a finite number, also where it is written as text."""
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
    """The first balanced {...} or [...] of the text, brackets inside strings not counted; empty when none closes."""
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


def identifier(value: Any) -> str:
    """An id as text: 3, "3" and 3.0 are the same."""
    number = as_number(value)
    return str(int(number)) if number is not None and number == int(number) else str(value).strip()
