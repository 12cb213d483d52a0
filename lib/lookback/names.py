"""Characters that are not allowed in names, and ways to print names, text from outside and counts.

A control character in an id can fake a line of a log. A terminal executes escape sequences. Bidirectional overrides make one name
look like another.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
ODD_BUT_LINES = re.compile(f"(?!\n){ODD.pattern}")


def odd_character(text: str) -> str:
    """The first character that is not allowed in a name, in words. Empty when the text is a valid name."""
    found = ODD.search(text)
    return f"the control character {_escaped(found)}" if found else ""


def one_line(text: str) -> str:
    """The text with every control character written as an escape."""
    return ODD.sub(_escaped, text)


def printable(text: str) -> str:
    """The same as `one_line`, but line breaks are kept."""
    return ODD_BUT_LINES.sub(_escaped, text)


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is: one line, no HTML, no link, no picture, no cell border, no bold or struck words."""
    line = html.escape(one_line(" ".join(text.split())), quote=False)
    return re.sub(r"([\\`\[\]|*~]|(?<![^\W_])_|_(?![^\W_]))", r"\\\1", line)


def last_number(name: str) -> float | None:
    """The last number in a name, none where it has no digit.

    >>> last_number("run2-epoch-1.5"), last_number("step-100"), last_number("final")
    (1.5, 100, None)
    """
    found = re.findall(r"\d+(?:\.\d+)?", name)
    return (float if "." in found[-1] else int)(found[-1]) if found else None


def counted(count: int, name: str) -> str:
    """ "1 clip", "1,200 clips"."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def listing(items: Sequence[str], most: int = 12) -> str:
    """ "a, b and 3 more": the first ones, and how many are left out; "none"."""
    rest = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + rest or "none"


def _escaped(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]
