"""Fill the marked tables of docs/validity.md from docs/measured and from what was seen by eye (lookback/validity/by_eye).

A block between `<!-- table:name -->` and `<!-- /table -->` is what `TABLES[name]` gives; nobody edits it by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lookback.validity.by_eye import ABSTENTIONS, CAMERAS, WRONG, seen
from recording import MEASURED, ROOT

PAGE = ROOT / "docs" / "validity.md"
BLOCK = re.compile(r"(<!-- table:(\w+) -->\n)(.*?)(<!-- /table -->)", re.DOTALL)


def _measured(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((MEASURED / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines) + "\n"


def masks() -> str:
    head = [
        "clips",
        "backend",
        "n",
        "overlap",
        "in view: right / wrong / not known",
        "falsely in view",
        "came back: right",
        "CPU s",
    ]
    rows = []
    for domain in ("real", "demo"):
        for name, each in _measured("masks")[domain].items():
            view = f"{each['in_view_right']} / {each['in_view_wrong']} / {each['not_known']}"
            back = f"{each['returned_right']} of {each['left']}"
            rows.append([domain, name, each["clips"], each["overlap"], view, each["falsely_in_view"], back, each["cpu_s"]])
    return _table(head, rows)


def backends() -> str:
    found = _measured("backends")
    before, after = (found[name]["seconds"] for name in ("before", "after"))
    names = sorted(name for name in {*before, *after} if max(before.get(name, 0), after.get(name, 0)) >= 0.1)
    return _table(["backend", "version 0.1", "now"], [[name, before.get(name, "-"), after.get(name, "-")] for name in names])


def cameras() -> str:
    rows = seen(CAMERAS)
    wrong = [[row["clip"], row["turn_deg"], row["why"]] for row in rows if row["judged"] == "wrong"]
    count = f"{len(rows) - len(wrong)} of {len(rows)} paths are right to the eye. These are not:\n\n"
    return count + _table(["clip", "turn, as estimated (degrees)", "what is seen"], wrong)


def silent() -> str:
    rows = seen(ABSTENTIONS)
    return _table(["clip", "surest failure", "rightly", "why"], [list(row.values()) for row in rows])


def wrong() -> str:
    return _table(["clip", "verdict", "why it is wrong"], [list(row.values()) for row in seen(WRONG)])


TABLES: dict[str, Callable[[], str]] = {
    "masks": masks, "backends": backends, "cameras": cameras, "silent": silent, "wrong": wrong,
}  # fmt: skip


def filled(text: str) -> str:
    return BLOCK.sub(lambda match: match[1] + TABLES[match[2]]() + match[4], text)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
