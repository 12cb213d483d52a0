"""The annotators invited to the desk: one token each. Only a digest of the token is stored, readable by the run's owner."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from lookback.errors import ContractError, UsageError
from lookback.files import atomic_path
from lookback.names import odd_character, one_line
from lookback.widgets.door import NAME_HEADER, Keys, digest, new_token

MOST = 80  # characters of a name


class Roster:
    """The file `annotators.json` of a run: annotator names with the digests of their tokens."""

    def __init__(self, path: Path):
        self.path = path

    def invite(self, names: Iterable[str]) -> dict[str, str]:
        """Make a new token for each name. An older link of the same name stops working."""
        tokens = {annotator_name(name): new_token() for name in names}
        invited = self._all() | {name: digest(token) for name, token in tokens.items()}
        with atomic_path(self.path, mode=0o600) as temporary:
            temporary.write_text(json.dumps(invited, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return tokens

    def keys(self) -> Keys:
        """The annotator's name for every token digest."""
        return {key: name for name, key in self._all().items()}

    def _all(self) -> dict[str, str]:
        if not self.path.is_file():
            return {}
        try:
            invited = json.loads(self.path.read_text(encoding="utf-8"))
        except ValueError:
            invited = None
        if not isinstance(invited, dict) or not all(isinstance(key, str) for key in invited.values()):
            raise ContractError(f"{self.path} is not a list of annotators; move it away and invite them again")
        return invited


def annotator_name(text: str) -> str:
    """The name in the form that is stored with votes. A name that cannot be used raises `UsageError`."""
    odd = odd_character(text)
    if odd:
        raise UsageError(f"The annotator's name '{one_line(text)}' holds {odd}; use letters, digits and spaces")
    name = " ".join(text.split())[:MOST]
    if not name:
        raise UsageError("An annotator needs a name")
    return name


def visitor() -> str | None:
    """The annotator whose link opened this page; None in a notebook, where the user types a name."""
    if "SERVER_SOFTWARE" not in os.environ:  # Voila sets it for its kernels
        return None
    name = os.environ.get("HTTP_" + NAME_HEADER.upper().replace("-", "_"), "")
    if not name:
        raise UsageError("The desk does not know who opened it; start it with `make annotate`, which gives each annotator a link")
    return unquote(name)
