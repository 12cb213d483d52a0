"""Secrets: find keys and passwords by the name of their field or by their form, and replace them before text is shown or stored."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Any
from urllib.parse import unquote

HIDDEN = "[hidden]"
HIDDEN_KEY = "[key]"  # in place of a secret of the environment
SHORTEST = 6  # a shorter "key" is a placeholder such as "none"; replacing it would change ordinary words
KEY_VARIABLES = ("LOOKBACK_JUDGE_KEY", "MBENCH_VLM_API_KEY", "OPENAI_API_KEY")  # the judge's key, first one first
SECRET_VARIABLES = (*KEY_VARIABLES, "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
SECRET_NAME = re.compile(
    r"api[_-]?key|secret|passw|passphrase|credential|authorization|bearer|(?:^|[^a-z])(?:key|token|pwd)$", re.IGNORECASE
)
WORD_OF_A_MODEL = re.compile(r"(?:bos|eos|pad|unk|sep|cls|mask|stop|end|start|image|video|think)_token$", re.IGNORECASE)
# the forms of the keys of common services, whole or shortened as in `sk-****cdef`
KEY = re.compile(
    r"\b(?:sk|pk|rk)-[\w-]{16,}|\bhf_\w{16,}|\bgh[a-z]_\w{16,}|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}|\bxox[a-z]-[\w-]{10,}"
    r"|\b(?:sk|pk|rk|hf|gh[a-z])[-_][\w-]*(?:[*•…]{2,}|\.{3})[\w-]*"
    r"|\beyJ[\w-]{10,}\.[\w.-]{10,}|\bBearer\s+[\w.~+/=-]{8,}"
)
# neither goes beyond a quotation mark, so that JSON stays JSON
PASSWORD_IN_URL = re.compile(r"(?<=://)[^/\s@\"'<>\\]+(?=@)")
SECRET_IN_URL = re.compile(
    r"(?<=[?&;])((?:[\w.-]*[-_.])?(?:api|access)?(?:key|token|secret|sig|signature|passw(?:or)?d|pwd|credential|auth)=)"
    r"([^&;#\s\"'<>\\]+)",
    re.IGNORECASE,
)
SHORTENED = re.compile(r"(?:[*•…]+|\.{2,}|x{3,})[\w-]*", re.IGNORECASE)  # what follows the first letters of a shortened key
RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w+=-]{32,}")  # a whole value that looks like the key of another service


def hide(text: str) -> str:
    """The text with every certain secret replaced: those of the environment, keys, and passwords and keys in URLs."""
    for secret in _known():
        text = _without(secret, text)
    return SECRET_IN_URL.sub(rf"\1{HIDDEN}", PASSWORD_IN_URL.sub(HIDDEN, KEY.sub(HIDDEN, text)))


def _known() -> list[str]:
    """The secrets of the environment, the longest first; those in an address also as a browser would send them."""
    found = {os.environ.get(name, "").strip() for name in SECRET_VARIABLES}
    for address in (value for value in os.environ.values() if "://" in value):
        for person in PASSWORD_IN_URL.findall(address):
            found |= {person.partition(":")[2], unquote(person.partition(":")[2]), b64encode(unquote(person).encode()).decode()}
        for _, value in SECRET_IN_URL.findall(address):
            found |= {value, unquote(value)}
    return sorted((secret for secret in found if len(secret) >= SHORTEST), key=len, reverse=True)


def _without(secret: str, text: str) -> str:
    """The text without the secret, also where a server has shortened it: `sk-SECRE`, `sk-SECRE****cdef`."""

    def hidden(found: re.Match[str]) -> str:
        alike = takewhile(lambda letters: letters[0] == letters[1], zip(secret, found[0], strict=False))
        piece = secret[: len(list(alike))]
        if piece.isdigit() or (piece.isalpha() and piece[1:].islower()):  # a secret may begin with an ordinary word
            return found[0]
        return HIDDEN_KEY + SHORTENED.sub("", found[0][len(piece) :], count=1)

    return re.sub(re.escape(secret[:SHORTEST]) + r"[^\s\"'<>\\]*", hidden, text.replace(secret, HIDDEN_KEY))


def names_secret(name: object) -> bool:
    """Whether a field of this name holds a secret."""
    return isinstance(name, str) and SECRET_NAME.search(name) is not None and not WORD_OF_A_MODEL.search(name)


def is_secret(name: object, value: object = None) -> bool:
    """Whether the value of a field must not be shown, judged by the name of the field and by the form of the value."""
    if names_secret(name):
        return True
    return isinstance(value, str) and (RANDOM.fullmatch(value.strip()) is not None or hide(value) != value)


def hide_all(value: Any, by_name: bool = True) -> Any:
    """Nested values that are safe to store: every certain secret is replaced, `by_name` also the value of a field for secrets."""
    if isinstance(value, dict):
        return {name: HIDDEN if by_name and names_secret(name) else hide_all(inner, by_name) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [hide_all(inner, by_name) for inner in value]
    return hide(value) if isinstance(value, str) else value


def find_key(value: object, place: str = "") -> str | None:
    """The place of a secret in nested values, such as `judging.model`; it may be a value or a name. None when there is none."""
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        found = (find_key(inner, f"{place}.{name}" if place else str(name)) for name, inner in entries)
        return next((one for one in found if one is not None), None)
    named = names_secret(place.rpartition(".")[2]) and value not in (None, "", HIDDEN) and not isinstance(value, bool)
    return place if named or hide(place) != place or (isinstance(value, str) and hide(value) != value) else None


def judge_key() -> str:
    """The judge's key: the first of the key variables that is set; empty when none is."""
    return next((os.environ[name] for name in KEY_VARIABLES if os.environ.get(name)), "")


@contextmanager
def using_judge_key(key: str) -> Iterator[None]:
    """While this lasts, `key` is the judge's key; nothing changes where it is empty.

    It is kept in the environment, where worker processes find it and `hide` knows it.
    """
    name, before = KEY_VARIABLES[0], os.environ.get(KEY_VARIABLES[0])
    if key:
        os.environ[name] = key
    try:
        yield
    finally:
        if key:
            os.environ.pop(name)
            os.environ.update({} if before is None else {name: before})
