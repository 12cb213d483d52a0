"""The judge's key: read from the environment, and never shown."""

from __future__ import annotations

import os

from lookback.hiding import KEY_VARIABLES

HIDDEN = "[key]"
SHORTEST = 6  # a shorter "key" is a placeholder such as "none"; hiding it would garble ordinary words


def judge_key() -> str:
    """The first of the key variables that is set; empty when none is."""
    return next((os.environ[name] for name in KEY_VARIABLES if os.environ.get(name)), "")


def redact(text: str) -> str:
    """The text with every key of the environment replaced: a server may send back what it was sent."""
    for name in KEY_VARIABLES:
        key = os.environ.get(name, "").strip()
        if len(key) >= SHORTEST:
            text = text.replace(key, HIDDEN)
    return text
