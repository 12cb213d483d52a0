"""The sections of the published report."""

from __future__ import annotations

import html
from collections import Counter

from matplotlib.figure import Figure

from lookback.figures import save_figure
from lookback.params import RunParams
from lookback.published import load
from lookback.published.claims import AGREES, CANNOT, DISAGREES, check_all
from lookback.published.printed import PrintedPaper, printed_papers
from lookback.report.page import Section
from lookback.report.published import claims, crossing, ranks
from lookback.report.published.tables import paper_table
from lookback.report.table import PaperTable

WIDE_TEXT = """<style>.prose th, .prose td { white-space: normal; text-align: left; vertical-align: top; max-width: 44ch; }
.prose thead th { text-align: left; }
.claims tbody th:nth-child(3) { min-width: 34ch; }
figure.table thead th { white-space: normal; }</style>"""
READING = """Every number below is copied from a paper's printed table or computed from such numbers; nothing was measured again.
Bold on green is best, underlined second best, within the group the paper uses. A recomputed number may differ from the quoted one
by what rounding in print can explain, and by no more: each claim shows that tolerance."""


class PublishedReport:
    """Collects the sections and tables of a run without a dataset."""

    def __init__(self, params: RunParams):
        self.params = params
        self.written: dict[str, PaperTable] = {}
        self.verdicts = check_all()

    def sections(self) -> list[Section]:
        """In reading order: what does not agree comes first."""
        papers = [self.paper(paper) for paper in printed_papers().values()]
        return [
            self.summary(),
            claims.section(self),
            *papers,
            ranks.section(self),
            crossing.section(self),
            self.sources(),
        ]

    def table(self, table: PaperTable) -> str:
        """Keep a table to be saved; its HTML."""
        self.written[table.id] = table
        return table.to_html()

    def wide(self, table: PaperTable) -> str:
        """A table whose cells are sentences."""
        return f'<div class="prose">{self.table(table)}</div>'

    def figure(self, figure: Figure, name: str, caption: str) -> str:
        """Save a figure in every format; its HTML."""
        return save_figure(figure, self.params.paths.figures / "report", name, caption).to_html()

    def summary(self) -> Section:
        """What was checked, and the findings the numbers carry."""
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
        fragments = [WIDE_TEXT, f'<div class="cards">{cards}</div>', f"<h3>What the numbers say</h3><ol>{findings}</ol>"]
        return Section("summary", "Summary", "", [*fragments, f"<h3>How to read this</h3><p>{html.escape(READING)}</p>"])

    def findings(self) -> list[tuple[str, str]]:
        """Three sentences, each from computed numbers, with the place of their evidence in the page."""
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
            (crossing.finding(), "order-agreement"),
        ]

    def paper(self, paper: PrintedPaper) -> Section:
        """A paper's printed tables; what else their numbers show stands behind the first."""
        fragments = [self.table(paper_table(printed)) for printed in paper.tables]
        for drawing in reversed(paper.drawings()):
            picture = self.figure(drawing.figure, drawing.name, drawing.caption)
            fragments[1:1] = [picture, f"<details><summary>The same as a table</summary>{self.table(drawing.table)}</details>"]
        return Section(paper.title.lower(), f"{paper.title}: printed tables", paper.intro, fragments)

    def sources(self) -> Section:
        """Where the numbers come from, and which spelling means which model."""
        names = load("models")
        table = PaperTable(
            "model-names",
            "Which printed names mean the same model, and why",
            names,
            list(names.columns),
            reading="A model is only "
            "matched on a name, a citation or a checkpoint that the papers state; a product row is not matched with a checkpoint.",
        )
        return Section(
            "sources",
            "Sources and names",
            "Each table's caption names its file; README.md beside the data names paper and table.",
            [self.wide(table)],
        )
