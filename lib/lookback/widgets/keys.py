"""The tokens of people who may open a page."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping

Keys = Mapping[str, str]  # digest of a token -> the name of its owner ("" where names do not matter)


def new_token() -> str:
    return secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """The hash under which a token is stored. A token is long and random, so the hash does not reveal it."""
    return hashlib.sha256(token.encode()).hexdigest()
