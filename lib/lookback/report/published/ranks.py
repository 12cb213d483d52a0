"""How firm the places in the printed tables are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from lookback.published import half_digits, load
from lookback.published.ranks import overall_ranks, rounding_ranges, share_places
from lookback.published.register import dimensions
from lookback.report.page import Section
from lookback.report.published.figures import overall_figure
from lookback.report.table import PaperTable
from lookback.stats import rank_intervals

if TYPE_CHECKING:
    from lookback.report.published.build import PublishedReport

# (id, title, paper, rows): places are given among the models the paper compares with each other
GROUPS: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("mbench-text", "MBench, text-conditioned", "MBench", {"setting": "text"}),
    ("mbench-action", "MBench, action-conditioned", "MBench", {"setting": "action"}),
    ("memobench", "MemoBench", "MemoBench", {}),
    ("wrbench", "WRBench", "WRBench", {}),
)


def section(report: PublishedReport) -> Section:
    """Overall places, places per dimension, and the two columns whose sampling error can be computed."""
    overall = {title: overall_table(paper, where) for _, title, paper, where in GROUPS}
    fragments = [
        report.figure(
            overall_figure({f"{title} (n = {len(table)} models)": table for title, table in overall.items()}),
            "overall_ranks",
            "Overall place by mean rank over the printed dimensions (dot), with the 95 % interval from drawing the dimensions "
            "again (bar). "
            "It says how much a place depends on which dimensions were chosen, not on which clips.",
        )
    ]
    for (name, title, paper, where), table in zip(GROUPS, overall.values(), strict=True):
        fragments.append(report.table(_overall(name, title, table)))
        places = report.table(per_dimension(name, title, paper, where))
        fragments.append(f"<details><summary>{title}: places per dimension</summary>{places}</details>")
    fragments += [report.table(support_table()), report.table(pose_table())]
    return Section(
        "ranks",
        "Rank intervals",
        "Three kinds, each from what is printed: rounding (per dimension), choice of dimensions (overall), and sampling of "
        "clips where n "
        "and spread are printed (WRBench's support, MemoBench's rotation error). The papers print no other spread.",
        fragments,
    )


def finding() -> str:
    """How many overall places stand whatever dimensions are drawn."""
    tables = [overall_table(paper, where) for _, _, paper, where in GROUPS]
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
    """Places with the range that rounding leaves open: "2" or "2 (2 to 3)"."""
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


def support_table() -> PaperTable:
    """WRBench support: the share of n outputs, its place, and the places that so many outputs leave open."""
    table = load("wrbench_table2").sort_values("reobs_support_pct", ascending=False, kind="stable").reset_index(drop=True)
    counts = np.round(table["reobs_support_pct"] * table["n_outputs"] / 100)
    low, high = (100 * bound for bound in proportion_confint(counts, table["n_outputs"], method="jeffreys"))
    places = share_places(table["reobs_support_pct"], table["n_outputs"])
    frame = pd.DataFrame(
        {
            "model": table["model"],
            "outputs": table["n_outputs"],
            "support %": table["reobs_support_pct"],
            "low": low,
            "high": high,
            "place": table["reobs_support_pct"].rank(ascending=False, method="min").astype(int),
            "place from": places["low"],
            "place to": places["high"],
        }
    )
    return PaperTable(
        "ranks-wrbench-support",
        "WRBench re-observation support with its sampling interval (95 %) and the interval of its place",
        frame,
        ["model"],
        {"support %": 1, "low": 1, "high": 1},
        notes=[
            "Jeffreys interval of k of n outputs; places that hold for all models at once (Mogstad et al. 2024). Outputs are "
            "taken as independent; those of one scene are not, so both are too narrow."
        ],
        reading="At the top of the access ladder a place moves by one at most; below, many models share one range of places.",
    )


def pose_table() -> PaperTable:
    """MemoBench S8: rotation error with its standard error and the interval of its place."""
    table = load("memobench_tableS8_camera")
    error = table["ate_rotation_deg_sd"] / np.sqrt(table["n"])
    places = rank_intervals(-table["ate_rotation_deg_mean"], error)
    frame = pd.DataFrame(
        {
            "model": table["model"],
            "clips": table["n"],
            "rotation error (deg)": table["ate_rotation_deg_mean"],
            "standard error": error,
            "place": table["ate_rotation_deg_mean"].rank(method="min").astype(int),
            "place from": places["low"],
            "place to": places["high"],
        }
    )
    return PaperTable(
        "ranks-memobench-s8",
        "MemoBench table S8: rotation error, its standard error, and the 95 % interval of the place",
        frame,
        ["model"],
        {"rotation error (deg)": 1, "standard error": 1},
        notes=[
            "Places that hold for all models at once (Mogstad et al. 2024), from sd / sqrt(n), models independent. The models "
            "share their clips, so paired differences would be sharper."
        ],
        reading="The four camera-conditioned models are told apart; the last four places are open.",
    )


def _rows(paper: str, where: dict[str, str]) -> pd.DataFrame:
    frame = load(str(dimensions(paper)["table"].iloc[0]))
    for column, value in where.items():
        frame = frame[frame[column] == value]
    return frame


def _values(paper: str, where: dict[str, str]) -> pd.DataFrame:
    """The group's printed numbers by printed model name, turned so that more is better."""
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
