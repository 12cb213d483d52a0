"""The annotators invited to the desk: one token each. Only a digest of the token is stored, readable by the study's owner."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from lookback.errors import ContractError, UsageError
from lookback.files import atomic_path
from lookback.names import odd_character, one_line
from lookback.widgets.keys import Keys, digest, new_token

MOST = 80  # characters of a name


class Roster:
    """The file `annotators.json` of a study: annotator names with the digests of their tokens."""

    def __init__(self, path: Path):
        self.path = path

    def invite(self, names: Iterable[str]) -> dict[str, str]:
        """Make a new token for each name. An older link of the same name stops working."""
        tokens = {annotator_name(name): new_token() for name in names}
        invited = self._all() | {name: digest(token) for name, token in tokens.items()}
        with atomic_path(self.path, mode=0o600) as temporary:
            temporary.write_text(json.dumps(invited, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return tokens

    @property
    def names(self) -> list[str]:
        """Everybody who was invited, in the order of the invitations."""
        return list(self._all())

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
