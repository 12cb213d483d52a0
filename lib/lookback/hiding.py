"""Keys that stand where they do not belong: known by their field's name or by their own look, and never shown."""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "[hidden]"
KEY_VARIABLES = ("LOOKBACK_JUDGE_KEY", "MBENCH_VLM_API_KEY", "OPENAI_API_KEY")  # where a judge's key comes from
SECRET_NAME = re.compile(
    r"api[_-]?key|secret|passw|passphrase|credential|authorization|bearer|(?:^|[^a-z])(?:key|token|pwd)$", re.IGNORECASE
)
# how the keys of the usual services begin
KEY = re.compile(
    r"\b(?:sk|pk|rk)-[\w-]{16,}|\bhf_\w{16,}|\bgh[a-z]_\w{16,}|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}|\bxox[a-z]-[\w-]{10,}"
    r"|\beyJ[\w-]{10,}\.[\w.-]{10,}|\bBearer\s+[\w.~+/=-]{8,}"
)
PASSWORD_IN_URL = re.compile(r"(?<=://)[^/\s@]+(?=@)")
RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w+=-]{32,}")  # a whole value that reads like a key of another service


def hide(text: str) -> str:
    """The text without anything that is surely a key or a URL's password."""
    return PASSWORD_IN_URL.sub(HIDDEN, KEY.sub(HIDDEN, text))


def is_secret(name: object, value: object = None) -> bool:
    """Whether a field must not be shown: its name says so, or its value looks like a key."""
    if isinstance(name, str) and SECRET_NAME.search(name):
        return True
    return isinstance(value, str) and (RANDOM.fullmatch(value.strip()) is not None or hide(value) != value)


def hide_all(value: Any) -> Any:
    """Parameters as they may be written down: surely secret values are hidden, the rest stays."""
    if isinstance(value, dict):
        return {name: HIDDEN if SECRET_NAME.search(str(name)) else hide_all(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [hide_all(inner) for inner in value]
    return hide(value) if isinstance(value, str) else value


def find_key(value: Any, place: str = "") -> str | None:
    """Where in nested values a key stands (`judging.model`), as a value or as a name; None when there is none."""
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        found = (find_key(inner, f"{place}.{name}" if place else str(name)) for name, inner in entries)
        return next((one for one in found if one is not None), None)
    return place if KEY.search(place) or (isinstance(value, str) and KEY.search(value)) else None
