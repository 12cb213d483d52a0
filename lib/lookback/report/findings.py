"""The executive page: up to three sentences that the run's data support, each with the place of its evidence."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from lookback.registry import METRICS
from lookback.report.table import PaperTable

MOST = 3


def findings(items: pd.DataFrame, tables: dict[str, PaperTable], folder: Path) -> list[str]:
    """HTML of at most three findings, the most telling kind first."""
    told = [*_audit(folder / "audit" / "failures.csv"), *_returns(items), *_agreement(folder / "agreement"), *_lead(items)]
    rows = "".join(
        f'<li>{html.escape(sentence)} <a href="#{place}">Evidence.</a></li>'
        for sentence, place in told
        if place in tables or place in ("judging", "agreement", "audit", "coverage")
    )
    shown = rows.split("</li>")[:MOST]
    return [f"<h3>What the data support</h3><ol>{'</li>'.join(shown)}</li></ol>"] if rows else []


def _audit(path: Path) -> Iterator[tuple[str, str]]:
    if not path.is_file() or (table := pd.read_csv(path)).empty:
        return
    caught = table["verdict"] != "missed by its metrics"
    missed = ", ".join(name.replace("_", " ") for name in table.loc[~caught, "failure"])
    text = f"{int(caught.sum())} of {len(table)} injected failures make a metric that is meant for them fall with their severity"
    yield text + (f"; missed: {missed}." if missed else "."), "audit-failures"


def _returns(items: pd.DataFrame) -> Iterator[tuple[str, str]]:
    own = items.loc[items["metric"] == "wrbench.support", "value"].dropna()
    quality = items.loc[items["metric"] == "wrbench.visual_integrity"].set_index(["model_id", "clip_id"])["value"]
    if own.empty:
        return
    text = f"In {int(own.sum())} of {len(own)} WRBench clips the subject is hidden and comes back so that it can be judged"
    support = items[items["metric"] == "wrbench.support"].set_index(["model_id", "clip_id"])["value"]
    joined = pd.concat({"support": support, "quality": quality}, axis=1).dropna()
    with_return, without = (joined.loc[joined["support"] == flag, "quality"] for flag in (1.0, 0.0))
    if len(with_return) > 1 and len(without) > 1:
        text += (
            f"; their visual integrity ({with_return.mean():.2f}) says little about it (the others: {without.mean():.2f})"
            if abs(with_return.mean() - without.mean()) < 0.1
            else f"; their visual integrity is {with_return.mean():.2f}, the others' {without.mean():.2f}"
        )
    yield text + ".", "judging"


def _agreement(folder: Path) -> Iterator[tuple[str, str]]:
    """What the first of the telling agreement tables says of itself."""
    path = folder / "readings.csv"
    if not path.is_file():
        return
    readings = pd.read_csv(path).fillna("").set_index("table")["reading"]
    for name in ("mbench_6", "agreement"):
        if text := readings.get(name, ""):
            votes = " (These votes are simulated.)" if "simulated" in text else ""
            yield text.split(". ")[0].rstrip(".") + "." + votes, f"agreement-{name}"
            return


def _lead(items: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Coverage: how much of what was asked could be scored at all."""
    if len(items):
        scored = items["value"].notna()
        worst = items.loc[~scored, "reason"].value_counts()
        because = f"; the commonest reason is {worst.index[0]} ({worst.iloc[0]})" if len(worst) else ""
        metrics = sum(spec.name in set(items["metric"]) for spec in METRICS)
        yield f"{int(scored.sum())} of {len(items)} scores of {metrics} metrics exist{because}.", "coverage"
