"""Check the papers' sentences against their own tables.

A claim is a sentence with a quoted number (or name, or order). `check_all()` reads the claims (one YAML file per paper), recomputes
each one from the printed tables, and says whether the two agree.

The tolerance is half a unit of the last digit of the quoted number. If the recomputation combines several printed numbers, each of
them was rounded too. The tolerance then grows by what half a last digit of each number can change in the result (one number at a
time, absolute changes added). A number that is only looked up gets no such addition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, model_validator

from lookback.published import half_digit, half_digits, load, names
from lookback.published.recomputations import RECOMPUTATIONS, Tables, Value, evaluate
from lookback.registry import benchmark_packages
from lookback.yaml_files import parse_yaml

AGREES, DISAGREES, CANNOT = "agrees", "does not agree", "cannot be recomputed"
SLACK = 1e-9


class Claim(BaseModel):
    """One sentence of a paper. `compute` names a registered function and its arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    paper: str = ""
    where: str  # section of the paper
    sentence: str  # the sentence, shortened
    quoted: str  # as printed: the digits set the tolerance
    relation: Literal["equals", "at most", "at least", "above"] = "equals"
    implied: bool = False  # the number follows from the sentence but is not printed in it
    compute: dict[str, Any] | None = None
    why: str = ""  # why it cannot be recomputed
    note: str = ""  # a remark for the reader

    @model_validator(mode="after")
    def _computed_or_explained(self) -> Claim:
        if (self.compute is None) == (self.why == ""):
            raise ValueError(f"claim '{self.id}' needs either `compute` or the reason `why` it cannot be recomputed")
        return self


def load_claims() -> list[Claim]:
    """Every claim, paper by paper, in the order of the papers' text."""
    claims = []
    for package in benchmark_packages():
        path = resources.files(package) / "published" / "claims.yaml"
        if not path.is_file():
            continue
        content = parse_yaml(path.read_text(encoding="utf-8"))
        claims += [Claim(**{"paper": content["paper"], **entry}) for entry in content["claims"]]
    return claims


@dataclass(frozen=True)
class Verdict:
    """A claim and the result of its check."""

    claim: Claim
    status: str
    recomputed: Value | None = None
    tolerance: float | None = None

    @property
    def recomputed_text(self) -> str:
        """A looked-up number as printed; a computed one with one digit more than the quoted number."""
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
    """Check every claim. Disagreements come first, then claims that cannot be recomputed, then those that agree."""
    found = printed_tables() if tables is None else tables
    verdicts = [check(claim, found) for claim in (load_claims() if claims is None else claims)]
    return sorted(verdicts, key=lambda verdict: (DISAGREES, CANNOT, AGREES).index(verdict.status))


def check(claim: Claim, tables: Tables) -> Verdict:
    """Check one claim against the tables."""
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
    """How much the rounding of the printed numbers can change the result."""
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
    """Every string in a specification; the tables and columns it reads are among them."""
    if isinstance(spec, str):
        yield spec
    elif isinstance(spec, Mapping):
        for part in spec.values():
            yield from _words(part)
    elif isinstance(spec, list):
        for part in spec:
            yield from _words(part)
