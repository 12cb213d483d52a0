"""The report of `RUN=published`: its sections, and the printed tables as the papers show them."""

from __future__ import annotations

import html
from collections import Counter

import numpy as np
import pandas as pd

from lookback.params import RunParams
from lookback.published import half_digits, load
from lookback.published.claims import AGREES, CANNOT, DISAGREES, check_all
from lookback.published.printed import Printed, PrintedPaper, printed_papers
from lookback.published.register import dimensions
from lookback.report.page import Report, Section
from lookback.report.published import claims, comparison, ranks
from lookback.report.table import PaperTable, mark_best

HOW_TO_READ = """Every number below is copied from a printed table of a paper or computed from such numbers. Nothing was measured
again. Bold on green is best and underlined is second best, within the groups that the paper uses. A recomputed number may differ
from the quoted one only by what the rounding of printed numbers explains. Each claim shows this tolerance."""


class PublishedReport(Report):
    """The report of a run without a dataset."""

    def __init__(self, params: RunParams):
        super().__init__(params)
        self.verdicts = check_all()

    def sections(self) -> list[Section]:
        """The sections; claims that do not agree come first."""
        papers = [self.paper(paper) for paper in printed_papers().values()]
        return [
            self.summary(),
            claims.section(self, self.verdicts),
            *papers,
            ranks.section(self),
            comparison.section(self),
            self.sources(),
        ]

    def summary(self) -> Section:
        """What was checked, and the main findings."""
        counts = Counter(verdict.status for verdict in self.verdicts)
        facts = {
            "printed tables": sum(len(paper.tables) for paper in printed_papers().values()),
            "claims checked": len(self.verdicts),
            "agree": counts[AGREES],
            "do not agree": counts[DISAGREES],
            "cannot be recomputed, each with the reason": counts[CANNOT],
        }
        cards = "".join(f'<div class="card"><b>{number:,}</b>{html.escape(name)}</div>' for name, number in facts.items())
        findings = "".join(
            f'<li>{html.escape(sentence)} <a href="#{place}">Evidence.</a></li>' for sentence, place in self.findings()
        )
        fragments = [f'<div class="cards">{cards}</div>', f"<h3>What the numbers say</h3><ol>{findings}</ol>"]
        return Section("summary", "Summary", "", [*fragments, f"<h3>How to read this</h3><p>{html.escape(HOW_TO_READ)}</p>"])

    def findings(self) -> list[tuple[str, str]]:
        """Three sentences made from computed numbers, each with the id of its evidence on the page."""
        wrong = [verdict for verdict in self.verdicts if verdict.status == DISAGREES]
        tested = sum(verdict.status != CANNOT for verdict in self.verdicts)
        by_paper = Counter(verdict.claim.paper for verdict in wrong)
        listed = ", ".join(f"{paper} {number}" for paper, number in by_paper.items())
        return [
            (
                f"{len(wrong)} of {tested} claims that can be recomputed do not agree with the paper's own tables ({listed}).",
                "claims-disagree",
            ),
            (ranks.finding(), "overall-mbench-text"),
            (comparison.finding(), "order-agreement"),
        ]

    def paper(self, paper: PrintedPaper) -> Section:
        """A paper's printed tables. Figures made from their numbers follow the first table."""
        fragments = [self.table(paper_table(printed)) for printed in paper.tables]
        for drawing in reversed(paper.drawings()):
            picture = self.figure(drawing.figure, drawing.name, drawing.caption)
            fragments[1:1] = [picture, f"<details><summary>The same as a table</summary>{self.table(drawing.table)}</details>"]
        return Section(paper.title.lower(), f"{paper.title}: printed tables", paper.intro, fragments)

    def sources(self) -> Section:
        """Where the numbers come from, and which printed name means which model."""
        names = load("models")
        table = PaperTable(
            "model-names",
            "Which printed names mean the same model, and why",
            names,
            list(names.columns),
            conclusion="A model is only "
            "matched on a name, a citation or a checkpoint that the papers state; a product row is not matched with a checkpoint.",
        )
        return Section(
            "sources",
            "Sources and names",
            "Each table's caption names its file; README.md beside the data names paper and table.",
            [self.prose_table(table)],
        )


def paper_table(printed: Printed) -> PaperTable:
    """A printed table in the shape of its paper, with best and second best marked as in the paper."""
    source, halves = load(printed.name), half_digits(printed.name)
    for column, value in printed.where.items():
        source = source[source[column] == value]
    flags = [column for column in source.columns if pd.api.types.is_bool_dtype(source[column])]
    numbers = [column for column in printed.columns or source.select_dtypes("number").columns if column not in flags]
    numbers = [column for column in numbers if source[column].notna().any()]
    frame = source[[*printed.labels, *numbers]].reset_index(drop=True)
    for column in (column for column in printed.labels if column in flags):
        frame[column] = frame[column].map({True: "yes", False: "no"})
    digits = {column: _digits(halves.loc[source.index, column]) for column in numbers}
    register = dimensions().set_index("column")
    headers = {
        column: str(register["header"].get(column, column.replace("_pct", " %").replace("_", " "))) for column in frame.columns
    }
    table = PaperTable(printed.id, printed.title, frame, list(printed.labels), digits, headers={**headers, **printed.headers})
    if printed.marked:
        ranked = [column for column in numbers if column not in {"n", "n_outputs", "gt_rotation_deg"}]
        table.better = {
            column: bool(register["higher_is_better"].get(column, True)) and column not in printed.lower for column in ranked
        }
        table.marks = mark_best(frame, table.better, digits, frame[printed.group] if printed.group else None)
    if "sparse" in flags:
        daggers = source["sparse"].map({True: "†", False: ""}).reset_index(drop=True)
        table.suffixes = pd.DataFrame({"reobs_spatial": daggers, "reobs_state": daggers})
    table.conclusion = printed.conclusion
    table.notes = [*printed.notes, f"Source: {printed.name}.csv, as printed."]
    return table


def _digits(halves: pd.Series) -> int:
    """The number of digits that a column was printed with."""
    smallest = halves[halves > 0].min()
    return 0 if np.isnan(smallest) else max(0, round(-np.log10(2 * smallest)))
