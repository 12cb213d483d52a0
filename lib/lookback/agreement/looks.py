"""Count the looks at a study's data.

`<plan>.looks.jsonl` lies beside the plan. Every analysis adds a line to it, and none is ever removed; the same files analysed again
under the same plan are the same look. The looks that a plan announces share its alpha; further ones raise the rate of false claims.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lookback.agreement.files import read_json_lines
from lookback.agreement.plan import Plan
from lookback.errors import ContractError
from lookback.files import sha256_file
from lookback.names import counted
from lookback.paths import looks_file

NOT_COUNTED = "looks not counted"
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


@dataclass(frozen=True)
class Look:
    """One look at the data of a study: which one it is, and how many the plan announces."""

    journal: Path
    entry: dict[str, Any]
    planned: int
    alpha: float
    seen: bool  # these files were analysed under this plan before

    @property
    def footnote(self) -> str:
        """The part of every table's footnote."""
        return f"{_ordinal(self.entry['look'])} look at these data, {self.planned} planned"

    @property
    def words(self) -> str:
        end = f": the level of {self.alpha:g} no longer holds" if self.warning else ""
        return f"This is the {self.footnote}{end}."

    @property
    def warning(self) -> str:
        """For every reading that makes claims: empty while the looks are within the plan."""
        if self.entry["look"] <= self.planned:
            return ""
        look = _ordinal(self.entry["look"]).capitalize()
        return f" {look} look, {self.planned} planned: the level of {self.alpha:g} no longer holds."

    def record(self) -> str:
        """Add the line to the journal. Returns a sentence where the journal cannot be written."""
        if self.seen:
            return ""
        try:
            with self.journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps(self.entry, ensure_ascii=False) + "\n")
        except OSError as error:
            return f"This look was not counted: {self.journal.name} cannot be written ({error.strerror})."
        return ""


def look_at(source: Path, plan: Plan, files: Sequence[Path], n_votes: int) -> Look:
    """The look that an analysis of these files is; `record` writes it down."""
    journal = looks_file(source)
    earlier = read_json_lines(journal, "look") if journal.is_file() else []
    data = sorted(sha256_file(path) for path in files)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    entry = {"look": len(earlier) + 1, "time": now, "plan_hash": plan.hash, "data": data, "votes": n_votes}
    try:
        same = [old for old in earlier if (old["plan_hash"], old["data"]) == (plan.hash, data)]
        numbers = [old["look"] for old in earlier]
    except KeyError as error:
        raise ContractError(f"{journal.name}: a line has no {error}; restore the file from a copy") from None
    if numbers != list(range(1, len(earlier) + 1)):
        raise ContractError(f"{journal.name}: {counted(len(earlier), 'line')}, not numbered from 1; restore the file from a copy")
    return Look(journal, same[0] if same else entry, plan.looks, plan.alpha, bool(same))


def _ordinal(number: int) -> str:
    return ORDINALS[number - 1] if number <= len(ORDINALS) else f"{number}th"
