"""The findings on the first page: up to three sentences that the data support, each with a link to its evidence."""

from __future__ import annotations

import html
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pandas as pd

from lookback.registry import BENCHMARKS
from lookback.tables import read_csv

MOST = 3
Finding = tuple[str, str]  # the sentence, and the HTML id of its evidence


def findings(items: pd.DataFrame, folder: Path) -> list[str]:
    """HTML of at most three findings, the most important kind first."""
    told = islice(_all(items, folder), MOST)
    rows = "".join(f'<li>{html.escape(sentence)} <a href="#{place}">Evidence.</a></li>' for sentence, place in told)
    return [f"<h3>What the data support</h3><ol>{rows}</ol>"] if rows else []


def _all(items: pd.DataFrame, folder: Path) -> Iterator[Finding]:
    yield from _audit(folder / "audit" / "finding.txt")
    yield from _papers(items)
    yield from _agreement(folder / "agreement" / "readings.csv")


def _audit(path: Path) -> Iterator[Finding]:
    """The sentence that the audit wrote about the injected failures."""
    if path.is_file():
        yield path.read_text(encoding="utf-8").strip(), "audit-failures"


def _papers(items: pd.DataFrame) -> Iterator[Finding]:
    """What each benchmark says about its own scores."""
    for name in sorted(items["benchmark"].unique()):
        yield from BENCHMARKS.get(name).findings(items[items["benchmark"] == name])


def _agreement(path: Path) -> Iterator[Finding]:
    """The conclusion of the first agreement table that has one."""
    if not path.is_file():
        return
    readings = read_csv(path).fillna("").set_index("table")["reading"]
    for name in ("mbench_6", "agreement"):
        if text := readings.get(name, ""):
            votes = " (These votes are simulated.)" if "simulated" in text else ""
            yield text.split(". ")[0].rstrip(".") + "." + votes, f"agreement-{name}"
            return
