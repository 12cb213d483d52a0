"""Who is invited to the desk: one token per annotator, kept as a digest that only the run's owner can read."""

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
    """`annotators.json` of a run: name -> digest of the token."""

    def __init__(self, path: Path):
        self.path = path

    def invite(self, names: Iterable[str]) -> dict[str, str]:
        """A new token for each name; the link that a name had before opens nothing any more."""
        tokens = {annotator_name(name): new_token() for name in names}
        invited = self._all() | {name: digest(token) for name, token in tokens.items()}
        with atomic_path(self.path, mode=0o600) as temporary:
            temporary.write_text(json.dumps(invited, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return tokens

    def keys(self) -> Keys:
        """Digest of a token -> its owner's name."""
        return {key: name for name, key in self._all().items()}

    def _all(self) -> dict[str, str]:
        if not self.path.is_file():
            return {}
        try:
            invited = json.loads(self.path.read_text(encoding="utf-8"))
        except ValueError:
            invited = None
        if not isinstance(invited, dict) or not all(isinstance(key, str) for key in invited.values()):
            raise ContractError(f"{self.path} is no list of annotators; move it away and invite them again")
        return invited


def annotator_name(text: str) -> str:
    """A name as it is stored with votes, or a sentence about what is wrong with it."""
    odd = odd_character(text)
    if odd:
        raise UsageError(f"The annotator's name '{one_line(text)}' holds {odd}; use letters, digits and spaces")
    name = " ".join(text.split())[:MOST]
    if not name:
        raise UsageError("An annotator needs a name")
    return name


def visitor() -> str | None:
    """The annotator whose link opened this page; None in a notebook, which its own user types a name into."""
    if "SERVER_SOFTWARE" not in os.environ:  # what Voila tells its kernels
        return None
    name = os.environ.get("HTTP_" + NAME_HEADER.upper().replace("-", "_"), "")
    if not name:
        raise UsageError("The desk does not know who is here: start it with `make annotate`, which gives each annotator a link")
    return unquote(name)
