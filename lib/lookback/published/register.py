"""Which printed names mean the same model (`data/models.csv`), and what each printed column measures (`data/dimensions.csv`)."""

from __future__ import annotations

from functools import cache

import pandas as pd

from lookback.errors import UsageError
from lookback.published import load
from lookback.published.printed import printed_papers, ranked_papers

# what a dimension measures, in the order of the figures
CONSTRUCTS = {
    "camera": "is the requested view change executed",
    "object": "does the same thing or person come back",
    "scene": "does the same place come back",
    "state": "did the event go on and end rightly",
    "appearance": "is the picture clean and stable",
    "instruction": "is the prompt followed",
}


def canonical(paper: str, printed: str) -> str:
    """The common name of a model that a paper prints. A name that occurs in one paper only stays as it is.

    >>> canonical("WRBench", "Hunyuan WorldPlay"), canonical("MemoBench", "HunyuanWorldPlay")
    ('HY-WorldPlay', 'HY-WorldPlay')
    """
    if paper not in ranked_papers():
        raise UsageError(f"no paper '{paper}' with printed model tables; known: {', '.join(ranked_papers())}")
    return _names().get((paper, printed), printed)


@cache
def _names() -> dict[tuple[str, str], str]:
    table = load("models")
    return {(row.paper, row.printed): row.model for row in table.itertuples()}


def dimensions(paper: str | None = None) -> pd.DataFrame:
    """The register of printed columns: paper, table, column, header, construct, higher_is_better."""
    table = load("dimensions")
    return table if paper is None else table[table["paper"] == paper].reset_index(drop=True)


def scores(paper: str) -> pd.DataFrame:
    """A paper's main table with common model names as index and its dimensions as columns, with signs such that more is better.

    If a paper scores its settings separately, only the setting whose models appear in other papers is used.
    """
    return _scores(paper).copy()


@cache
def _scores(paper: str) -> pd.DataFrame:
    listed = dimensions(paper)
    frame = load(str(listed["table"].iloc[0]))
    for column, value in printed_papers()[paper].compared.items():
        frame = frame[frame[column] == value]
    frame.index = pd.Index([canonical(paper, name) for name in frame["model"]], name="model")
    values = frame[list(listed["column"])].astype(float)
    sign = listed.set_index("column")["higher_is_better"].map({True: 1.0, False: -1.0})
    return values * sign


def shared_models() -> pd.DataFrame:
    """Models that appear in two or more papers: one row per model, with its printed name in each paper."""
    rows: dict[str, dict[str, str]] = {}
    for paper in ranked_papers():
        for printed in load(str(dimensions(paper)["table"].iloc[0]))["model"]:
            rows.setdefault(canonical(paper, printed), {})[paper] = printed
    shared = {model: names for model, names in rows.items() if len(names) > 1}
    table = pd.DataFrame.from_dict(shared, orient="index", columns=list(ranked_papers()))
    table.insert(0, "papers", table.notna().sum(axis=1))
    return table.sort_values("papers", ascending=False, kind="stable").rename_axis("model").reset_index()
