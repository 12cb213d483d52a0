"""The tokens of people who may open a page."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from pathlib import Path

from lookback.files import atomic_path

Keys = Mapping[str, str]  # digest of a token -> the name of its owner ("" where names do not matter)


def new_token() -> str:
    return secrets.token_urlsafe(32)


def new_secret() -> bytes:
    """What a server signs its cookies with."""
    return secrets.token_bytes(32)


def kept_secret(path: Path) -> bytes:
    """The secret in this file, which only its owner can read; made when there is none."""
    if not path.is_file():
        with atomic_path(path, mode=0o600) as temporary:
            temporary.write_bytes(new_secret())
    return path.read_bytes()


def digest(token: str) -> str:
    """The hash under which a token is stored. A token is long and random, so the hash does not reveal it."""
    return hashlib.sha256(token.encode()).hexdigest()
