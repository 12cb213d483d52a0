"""The executive page: up to three sentences that the run's data support, each with the place of its evidence."""

from __future__ import annotations

import html
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pandas as pd

from lookback.audit.reading import CAUGHT, MISSED, SEEN, UNMEASURED
from lookback.tables import read_csv

MOST = 3
SUPPORT = "wrbench.support"
ALIKE = 0.1  # visual integrity closer than this says little about a return
Finding = tuple[str, str]  # the sentence, and the id of its evidence in the page


def findings(items: pd.DataFrame, folder: Path) -> list[str]:
    """HTML of at most three findings, the most telling kind first."""
    told = islice(_all(items, folder), MOST)
    rows = "".join(f'<li>{html.escape(sentence)} <a href="#{place}">Evidence.</a></li>' for sentence, place in told)
    return [f"<h3>What the data support</h3><ol>{rows}</ol>"] if rows else []


def _all(items: pd.DataFrame, folder: Path) -> Iterator[Finding]:
    yield from _audit(folder / "audit" / "failures.csv")
    yield from _returns(items)
    yield from _agreement(folder / "agreement" / "readings.csv")
    yield from _coverage(items)


def _audit(path: Path) -> Iterator[Finding]:
    """How many injected failures are seen by a metric meant for them."""
    if not path.is_file() or (table := read_csv(path)).empty:
        return
    named = table["failure"].str.replace("_", " ")
    missed = ", ".join(named[table["verdict"] == MISSED])
    unmeasured = table["verdict"].str.startswith(UNMEASURED)
    unknown = ", ".join(named[unmeasured] + " (" + table.loc[unmeasured, "verdict"].str.removeprefix(f"{UNMEASURED}: ") + ")")
    caught = int(table["verdict"].isin([CAUGHT, SEEN]).sum())
    text = f"{caught} of {len(table)} injected failures make a metric that is meant for them fall with their severity"
    yield text + (f"; missed: {missed}" if missed else "") + (f"; not measured: {unknown}." if unknown else "."), "audit-failures"


def _returns(items: pd.DataFrame) -> Iterator[Finding]:
    """How many WRBench clips return, and whether their quality would have told."""
    wide = items.pivot_table(index=["model_id", "clip_id"], columns="metric", values="value")
    if SUPPORT not in wide:
        return
    returned = wide[SUPPORT].dropna()
    share = f"In {int(returned.sum())} of {len(returned)} WRBench clips"
    text = f"{share} the subject is hidden and comes back so that it can be judged"
    if "wrbench.visual_integrity" in wide:
        quality = wide["wrbench.visual_integrity"].groupby(wide[SUPPORT]).mean()
        if len(quality) == 2:
            without, with_return = quality.sort_index()
            little = abs(with_return - without) < ALIKE
            says = "says little about it" if little else "differs"
            text += f"; their visual integrity ({with_return:.2f}) {says} (the others: {without:.2f})"
    simulated = items.loc[items["metric"] == SUPPORT, "backend"].str.contains("simulated").any()
    yield f"{text}.{' (The judge is simulated.)' if simulated else ''}", "wrbench-2"


def _agreement(path: Path) -> Iterator[Finding]:
    """What the first of the telling agreement tables says of itself."""
    if not path.is_file():
        return
    readings = read_csv(path).fillna("").set_index("table")["reading"]
    for name in ("mbench_6", "agreement"):
        if text := readings.get(name, ""):
            votes = " (These votes are simulated.)" if "simulated" in text else ""
            yield text.split(". ")[0].rstrip(".") + "." + votes, f"agreement-{name}"
            return


def _coverage(items: pd.DataFrame) -> Iterator[Finding]:
    """How much of what was asked could be scored at all."""
    if items.empty:
        return
    scored = items["value"].notna()
    reasons = items.loc[~scored, "reason"].value_counts()
    because = f"; the commonest reason is {reasons.index[0]} ({reasons.iloc[0]})" if len(reasons) else ""
    yield f"{int(scored.sum())} of {len(items)} scores of {items['metric'].nunique()} metrics exist{because}.", "coverage"
