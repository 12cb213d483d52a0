"""How the printed tables of a paper are shown, and what is computed from them. Each benchmark declares its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lookback.registry import BENCHMARKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lookback.report.table import PaperTable


@dataclass(frozen=True)
class Printed:
    """How one printed table is shown."""

    id: str
    name: str  # name of the data file
    title: str
    labels: tuple[str, ...] = ("model",)
    columns: tuple[str, ...] = ()  # empty: all
    where: dict[str, str] = field(default_factory=dict)
    group: str = ""  # best and second best are marked within each value of this column
    marked: bool = False
    lower: tuple[str, ...] = ()  # further columns in which less is better
    headers: dict[str, str] = field(default_factory=dict)
    conclusion: str = ""
    notes: tuple[str, ...] = ()
    own: str = ""  # the name of the same table made from a run, where it differs
    own_columns: dict[str, str] = field(default_factory=dict)  # column -> its header in that table


@dataclass(frozen=True)
class RankGroup:
    """Models that a paper compares with each other: the rows of its main table that match `where`."""

    id: str
    title: str
    where: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Drawing:
    """A figure made from printed numbers, with its name, its caption, and the same numbers as a table."""

    figure: Figure
    name: str
    caption: str
    table: PaperTable


@dataclass(frozen=True)
class PrintedPaper:
    """The printed tables of one paper."""

    title: str
    intro: str
    tables: tuple[Printed, ...]
    groups: tuple[RankGroup, ...] = ()
    compared: dict[str, str] = field(default_factory=dict)  # selects the rows of its main table that are compared with other papers
    drawings: Callable[[], list[Drawing]] = list
    sampled: Callable[[], list[PaperTable]] = list  # tables of places for which a sampling error can be computed

    @property
    def ranks_models(self) -> bool:
        """True if the paper prints a table that compares models."""
        return bool(self.groups)


def printed_papers() -> dict[str, PrintedPaper]:
    """Every benchmark's printed paper by its title."""
    papers = [paper for benchmark in BENCHMARKS if (paper := benchmark.printed()) is not None]
    return {paper.title: paper for paper in papers}


def ranked_papers() -> tuple[str, ...]:
    """The titles of the papers that print a table of models."""
    return tuple(title for title, paper in printed_papers().items() if paper.ranks_models)
