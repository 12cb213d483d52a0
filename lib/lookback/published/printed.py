"""How a paper's printed tables are shown, and what else can be computed from them. Each benchmark declares its own."""

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
    name: str  # the data file
    title: str
    labels: tuple[str, ...] = ("model",)
    columns: tuple[str, ...] = ()  # empty: all
    where: dict[str, str] = field(default_factory=dict)
    group: str = ""  # best and second best are marked within it
    marked: bool = False
    lower: tuple[str, ...] = ()  # less is better, beyond what the register says
    headers: dict[str, str] = field(default_factory=dict)
    conclusion: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class RankGroup:
    """Models that a paper compares with each other: the rows of its main table that `where` keeps."""

    id: str
    title: str
    where: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Drawing:
    """A figure made from printed numbers, with its name and caption, and the same as a table."""

    figure: Figure
    name: str
    caption: str
    table: PaperTable


@dataclass(frozen=True)
class PrintedPaper:
    """What a paper prints."""

    title: str
    intro: str
    tables: tuple[Printed, ...]
    groups: tuple[RankGroup, ...] = ()
    compared: dict[str, str] = field(default_factory=dict)  # the rows of its main table that other papers have too
    drawings: Callable[[], list[Drawing]] = list
    sampled: Callable[[], list[PaperTable]] = list  # tables of places whose sampling error can be computed

    @property
    def ranks_models(self) -> bool:
        """Whether it prints a table of models."""
        return bool(self.groups)


def printed_papers() -> dict[str, PrintedPaper]:
    """Every benchmark's printed paper by its title."""
    papers = [paper for benchmark in BENCHMARKS if (paper := benchmark.printed()) is not None]
    return {paper.title: paper for paper in papers}


def ranked_papers() -> tuple[str, ...]:
    """The titles of the papers that print a table of models."""
    return tuple(title for title, paper in printed_papers().items() if paper.ranks_models)
