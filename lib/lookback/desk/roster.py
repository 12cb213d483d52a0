"""The annotators invited to the desk: one token each. Only a digest of the token is stored, readable by the study's owner."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from lookback.errors import ContractError, UsageError
from lookback.files import atomic_path
from lookback.names import odd_character, one_line
from lookback.widgets.keys import Keys, digest, new_token

MOST = 80  # characters of a name
# characters that show nothing: Unicode's Default_Ignorable_Code_Point
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


class Roster:
    """The file `annotators.json` of a study: annotator names with the digests of their tokens."""

    def __init__(self, path: Path):
        self.path = path

    def invite(self, names: Iterable[str]) -> dict[str, str]:
        """Make a new token for each name. An older link of the same name stops working."""
        invited, tokens = self._all(), {}
        for text in names:
            name = _known(text, invited)
            tokens[name] = new_token()
            invited[name] = digest(tokens[name])
        with atomic_path(self.path, mode=0o600) as temporary:
            temporary.write_text(json.dumps(invited, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return tokens

    def name_of(self, text: str) -> str:
        """The name under which this person was invited; the name itself if it is a new one."""
        return _known(text, self._all())

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
    if not _looks(name):
        raise UsageError("An annotator needs a name")
    return name


def _known(text: str, known: Iterable[str]) -> str:
    """The known name that looks like this one; without any, this one."""
    name = annotator_name(text)
    alike = [other for other in known if _looks(other) == _looks(name)]
    return name if name in alike or not alike else alike[0]


def _looks(name: str) -> str:
    """A name without what readers do not tell apart: capitals, ways to encode a letter, invisible characters."""
    seen = INVISIBLE.sub("", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(unicodedata.normalize("NFKC", seen).split())
