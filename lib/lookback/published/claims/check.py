"""Hold a claim against the printed tables.

The tolerance is half a unit of the quoted number's last digit. Where the recomputation combines several printed numbers, each of
them was rounded too: what half a last digit of every one of them can move the result (one at a time, absolute shifts added) is
added to the tolerance. A number that is only looked up gets no such allowance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lookback.published import half_digit, half_digits, load, names
from lookback.published.claims.claim import Claim, load_claims
from lookback.published.claims.functions import RECOMPUTATIONS, Tables, Value, evaluate

AGREES, DISAGREES, CANNOT = "agrees", "does not agree", "cannot be recomputed"
SLACK = 1e-9


@dataclass(frozen=True)
class Verdict:
    """A claim with what came out."""

    claim: Claim
    status: str
    recomputed: Value | None = None
    tolerance: float | None = None

    @property
    def recomputed_text(self) -> str:
        """As printed where it was looked up, else with one digit more than the quoted number."""
        if self.recomputed is None or isinstance(self.recomputed, str | int):
            return "" if self.recomputed is None else str(self.recomputed)
        if self.claim.compute and RECOMPUTATIONS.get(self.claim.compute["function"]).looked_up:
            return f"{self.recomputed:.6g}"
        digits = len(self.claim.quoted.partition(".")[2])
        return f"{self.recomputed:.{digits + 1}f}"


def printed_tables() -> dict[str, pd.DataFrame]:
    """Every printed table by name."""
    return {name: load(name) for name in names()}


def check_all(claims: Iterable[Claim] | None = None, tables: Tables | None = None) -> list[Verdict]:
    """Every claim checked; disagreements first, then what cannot be recomputed, then what agrees, each in the papers' order."""
    found = printed_tables() if tables is None else tables
    verdicts = [check(claim, found) for claim in (load_claims() if claims is None else claims)]
    return sorted(verdicts, key=lambda verdict: (DISAGREES, CANNOT, AGREES).index(verdict.status))


def check(claim: Claim, tables: Tables) -> Verdict:
    """One claim against the tables."""
    if claim.compute is None:
        return Verdict(claim, CANNOT)
    value = evaluate(claim.compute, tables)
    if isinstance(value, str):
        return Verdict(claim, AGREES if value == claim.quoted else DISAGREES, value)
    quoted = float(claim.quoted.replace(",", ""))
    tolerance = 0.0 if isinstance(value, int) else half_digit(claim.quoted) + _rounding(claim.compute, tables, value)
    holds = {
        "equals": abs(value - quoted) <= tolerance + SLACK,
        "at most": value <= quoted + SLACK,
        "at least": value >= quoted - SLACK,
        "above": value > quoted,
    }[claim.relation]
    return Verdict(claim, AGREES if holds else DISAGREES, value, tolerance if claim.relation == "equals" else None)


def _rounding(compute: Mapping[str, Any], tables: Tables, value: float) -> float:
    """How far rounding of the printed numbers can have moved the result."""
    if RECOMPUTATIONS.get(compute["function"]).looked_up:
        return 0.0
    words = set(_words(compute))
    total = 0.0
    for name in words & set(tables):
        halves = half_digits(name)
        for column in (column for column in tables[name].columns if column in words):
            for row in halves.index[halves[column] > 0].intersection(tables[name].index):
                moved = tables[name].astype({column: float})
                moved.loc[row, column] += halves.loc[row, column]
                shifted = evaluate(compute, {**tables, name: moved})
                total += abs(float(shifted) - value)
    return total


def _words(spec: Any) -> Iterable[str]:
    """Every string in a specification: among them the tables and columns it reads."""
    if isinstance(spec, str):
        yield spec
    elif isinstance(spec, Mapping):
        for part in spec.values():
            yield from _words(part)
    elif isinstance(spec, list):
        for part in spec:
            yield from _words(part)
