"""Characters that no name may have, and how text from outside is made safe to print.

A control character in an id can forge a line of a log, and a terminal obeys escape sequences; bidirectional overrides make a
name look like another one.
"""

from __future__ import annotations

import re

ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
ODD_BUT_LINES = re.compile(f"(?!\n){ODD.pattern}")


def odd_character(text: str) -> str:
    """What is wrong with a text as a name: the first character that it may not hold, in words; empty when nothing is."""
    found = ODD.search(text)
    return f"the control character {_escaped(found)}" if found else ""


def one_line(text: str) -> str:
    """The text with every control character written as an escape."""
    return ODD.sub(_escaped, text)


def printable(text: str) -> str:
    """The same for text of several lines: its line ends stay."""
    return ODD_BUT_LINES.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]
