"""Secrets: find keys and passwords by the name of their field or by their form, and replace them before text is shown or stored."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

HIDDEN = "[hidden]"
HIDDEN_KEY = "[key]"  # in place of a judge's key
SHORTEST = 6  # a shorter "key" is a placeholder such as "none"; replacing it would change ordinary words
KEY_VARIABLES = ("LOOKBACK_JUDGE_KEY", "MBENCH_VLM_API_KEY", "OPENAI_API_KEY")  # the judge's key, first one first
SECRET_NAME = re.compile(
    r"api[_-]?key|secret|passw|passphrase|credential|authorization|bearer|(?:^|[^a-z])(?:key|token|pwd)$", re.IGNORECASE
)
# the forms of the keys of common services
KEY = re.compile(
    r"\b(?:sk|pk|rk)-[\w-]{16,}|\bhf_\w{16,}|\bgh[a-z]_\w{16,}|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}|\bxox[a-z]-[\w-]{10,}"
    r"|\beyJ[\w-]{10,}\.[\w.-]{10,}|\bBearer\s+[\w.~+/=-]{8,}"
)
PASSWORD_IN_URL = re.compile(r"(?<=://)[^/\s@]+(?=@)")
RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w+=-]{32,}")  # a whole value that looks like the key of another service


def hide(text: str) -> str:
    """The text with every certain key and every password in a URL replaced."""
    return PASSWORD_IN_URL.sub(HIDDEN, KEY.sub(HIDDEN, text))


def is_secret(name: object, value: object = None) -> bool:
    """Whether the value of a field must not be shown, judged by the name of the field and by the form of the value."""
    if isinstance(name, str) and SECRET_NAME.search(name):
        return True
    return isinstance(value, str) and (RANDOM.fullmatch(value.strip()) is not None or hide(value) != value)


def hide_all(value: Any) -> Any:
    """Parameters that are safe to store: every certain secret is replaced, the rest stays."""
    if isinstance(value, dict):
        return {name: HIDDEN if SECRET_NAME.search(str(name)) else hide_all(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [hide_all(inner) for inner in value]
    return hide(value) if isinstance(value, str) else value


def find_key(value: object, place: str = "") -> str | None:
    """The place of a key in nested values, for example `judging.model`; it may be a value or a name. None when there is none."""
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        found = (find_key(inner, f"{place}.{name}" if place else str(name)) for name, inner in entries)
        return next((one for one in found if one is not None), None)
    return place if KEY.search(place) or (isinstance(value, str) and KEY.search(value)) else None


def judge_key() -> str:
    """The judge's key: the first of the key variables that is set; empty when none is."""
    return next((os.environ[name] for name in KEY_VARIABLES if os.environ.get(name)), "")


@contextmanager
def using_judge_key(key: str) -> Iterator[None]:
    """While this lasts, `key` is the judge's key; nothing changes where it is empty.

    It stands in the environment, where worker processes find it and `redact` knows it.
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


def redact(text: str) -> str:
    """The text with every judge's key of the environment replaced; a server may send back what it was sent."""
    for name in KEY_VARIABLES:
        key = os.environ.get(name, "").strip()
        if len(key) >= SHORTEST:
            text = text.replace(key, HIDDEN_KEY)
    return text
