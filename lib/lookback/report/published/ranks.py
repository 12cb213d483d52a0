"""The section about rank intervals: how certain the places in the printed tables are."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookback.published import half_digits, load
from lookback.published.printed import RankGroup, printed_papers
from lookback.published.ranks import overall_ranks, rounding_ranges
from lookback.published.register import dimensions
from lookback.report.page import Report, Section
from lookback.report.published.figures import overall_figure
from lookback.report.table import PaperTable


def groups() -> list[tuple[str, RankGroup]]:
    """Every paper with its groups of models that are compared with each other."""
    return [(title, group) for title, paper in printed_papers().items() for group in paper.groups]


def section(report: Report) -> Section:
    """Overall places, places per dimension, and the columns whose sampling error can be computed."""
    overall = {group.title: overall_table(paper, group.where) for paper, group in groups()}
    fragments = [
        report.figure(
            overall_figure({f"{title} (n = {len(table)} models)": table for title, table in overall.items()}),
            "overall_ranks",
            "Overall place by mean rank over the printed dimensions (dot), with the 95 % interval from drawing the dimensions "
            "again (bar). "
            "It says how much a place depends on which dimensions were chosen, not on which clips.",
        )
    ]
    for (paper, group), table in zip(groups(), overall.values(), strict=True):
        fragments.append(report.table(_overall(group.id, group.title, table)))
        places = report.table(per_dimension(group.id, group.title, paper, group.where))
        fragments.append(f"<details><summary>{group.title}: places per dimension</summary>{places}</details>")
    fragments += [report.table(table) for paper in printed_papers().values() for table in paper.sampled()]
    return Section(
        "ranks",
        "Rank intervals",
        "Three kinds, each from what is printed: rounding (per dimension), choice of dimensions (overall), and sampling of "
        "clips where n "
        "and spread are printed. The papers print no other spread.",
        fragments,
    )


def finding() -> str:
    """One sentence: how many overall places do not depend on the drawn dimensions."""
    tables = [overall_table(paper, group.where) for paper, group in groups()]
    firm = sum(int((table["low"] == table["high"]).sum()) for table in tables)
    return (
        f"Of {sum(map(len, tables))} overall places only {firm} stay the same in 95 % of draws of the dimensions; most intervals "
        f"span several "
        "places, so an overall order is a choice of dimensions more than a result."
    )


def overall_table(paper: str, where: dict[str, str]) -> pd.DataFrame:
    """Overall places of the models of one group, under their printed names."""
    values = _values(paper, where)
    return overall_ranks(values.dropna(axis=1, how="all"))


def per_dimension(name: str, title: str, paper: str, where: dict[str, str]) -> PaperTable:
    """Places per dimension, with the range that rounding allows: "2" or "2 (2 to 3)"."""
    values, listed = _values(paper, where), dimensions(paper)
    halves = half_digits(str(listed["table"].iloc[0])).loc[_rows(paper, where).index]
    frame = pd.DataFrame({"model": values.index})
    for row in listed.itertuples():
        if values[row.column].notna().any():
            ranges = rounding_ranges(values[row.column].to_numpy(), halves[row.column].to_numpy())
            frame[row.header] = [_range_text(line) for line in ranges.itertuples()]
    return PaperTable(
        f"ranks-{name}",
        f"{title}: place per dimension, with the range rounding leaves open",
        frame,
        ["model"],
        notes=["Only numbers printed alike leave a place open. Sampling of clips is not in these ranges."],
    )


def _rows(paper: str, where: dict[str, str]) -> pd.DataFrame:
    frame = load(str(dimensions(paper)["table"].iloc[0]))
    for column, value in where.items():
        frame = frame[frame[column] == value]
    return frame


def _values(paper: str, where: dict[str, str]) -> pd.DataFrame:
    """The group's printed numbers by printed model name, with signs such that more is better."""
    rows, listed = _rows(paper, where), dimensions(paper)
    sign = listed.set_index("column")["higher_is_better"].map({True: 1.0, False: -1.0})
    return rows.set_index("model")[list(listed["column"])] * sign


def _overall(name: str, title: str, table: pd.DataFrame) -> PaperTable:
    frame = table.sort_values("mean_rank").reset_index(names="model")
    frame = frame[["model", "rank", "low", "high", "mean_rank"]]
    headers = {"rank": "overall place", "low": "from", "high": "to", "mean_rank": "mean rank"}
    return PaperTable(
        f"overall-{name}",
        f"{title}: overall place and its 95 % interval over dimensions",
        frame,
        ["model"],
        headers=headers,
        notes=["Mean rank over the dimensions that every model of the group has. 2,000 draws of the dimensions with replacement."],
    )


def _range_text(line: object) -> str:
    rank, best, worst = (getattr(line, name) for name in ("rank", "best", "worst"))
    if np.isnan(rank):
        return ""
    return f"{rank:.0f}" if best == worst else f"{rank:.0f} ({best:.0f} to {worst:.0f})"
