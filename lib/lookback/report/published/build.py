"""The sections of the published report."""

from __future__ import annotations

import html
from collections import Counter

from matplotlib.figure import Figure

from lookback.figures import save_figure
from lookback.params import RunParams
from lookback.published import load
from lookback.published.claims import AGREES, CANNOT, DISAGREES, check_all
from lookback.report.page import Section
from lookback.report.published import claims, crossing, ranks
from lookback.report.published.figures import correlation_figure
from lookback.report.published.tables import TABLES, paper_table
from lookback.report.table import PaperTable
from lookback.stats.correlations import correlation_structure

WIDE_TEXT = """<style>.prose th, .prose td { white-space: normal; text-align: left; vertical-align: top; max-width: 44ch; }
.prose thead th { text-align: left; }
.claims tbody th:nth-child(3) { min-width: 34ch; }
figure.table thead th { white-space: normal; }</style>"""
READING = """Every number below is copied from a paper's printed table or computed from such numbers; nothing was measured again.
Bold on green is best, underlined second best, within the group the paper uses. A recomputed number may differ from the quoted one
by what rounding in print can explain, and by no more: each claim shows that tolerance."""
INTROS = {
    "MBench": "14 models, 12 dimensions. The bodies of its tables 3, 4 and 6 are not in the text at hand and are left out.",
    "MemoBench": "Ten models in the main tables, eight in most supplementary ones. Every table of results is here.",
    "WRBench": "23 models. Of its tables 3 to 9 and 13 to 17 only the cells that sentences quote are in the text at hand; the "
    "rest is left "
    "out.",
}


class PublishedReport:
    """Collects the sections and tables of a run without a dataset."""

    def __init__(self, params: RunParams):
        self.params = params
        self.written: dict[str, PaperTable] = {}
        self.verdicts = check_all()

    def sections(self) -> list[Section]:
        """In reading order: what does not agree comes first."""
        papers = [self.paper(name) for name in TABLES]
        return [
            self.summary(),
            claims.section(self),
            *papers,
            self.mind(),
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
            "printed tables": sum(len(tables) for tables in TABLES.values()),
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

    def paper(self, name: str) -> Section:
        """A paper's printed tables."""
        fragments = [self.table(paper_table(printed)) for printed in TABLES[name]]
        if name == "WRBench":
            fragments[1:1] = self.correlations()
        return Section(name.lower(), f"{name}: printed tables", INTROS[name], fragments)

    def correlations(self) -> list[str]:
        """WRBench's figure 4, with the intervals it does not print."""
        columns = [column for column in load("dimensions").query("paper == 'WRBench'")["column"] if column != "cam_prec"]
        columns = ["cam_prec", *columns]
        values = load("wrbench_table2")[columns]
        structure = correlation_structure(values, method="pearson")
        picture = self.figure(
            correlation_figure(structure, columns, len(values)),
            "wrbench_figure4",
            f"WRBench figure 4 recomputed from table 2: Pearson's r over the {len(values)} models (CamPrec: "
            f"{values['cam_prec'].count()}). "
            "The visible pair and the re-observed pair form blocks; support stands apart.",
        )
        lowest = structure.loc[structure["r"].idxmin()]
        frame = structure[["metric_a", "metric_b", "r", "low", "high", "p", "p_holm", "n"]]
        digits = dict.fromkeys(("r", "low", "high", "p", "p_holm"), 3)
        table = PaperTable(
            "wrbench-figure4",
            "WRBench figure 4 as numbers: r with its 95 % interval (Fisher) and p (Holm over all pairs)",
            frame,
            ["metric_a", "metric_b"],
            digits,
            notes=[
                "n models per pair. Models are treated as a sample; several share a base model, so the intervals are too narrow."
            ],
            reading=f"The strongest negative correlation, which the text leaves out, is between {lowest['metric_a']} and "
            f"{lowest['metric_b']} ({lowest['r']:.2f}): models that move the camera as asked look worse while visible. The "
            f"small negative "
            "ones of support have intervals across zero: no clear relation, rather than an inverse one.",
        )
        return [picture, f"<details><summary>The correlations as a table</summary>{self.table(table)}</details>"]

    def mind(self) -> Section:
        """Said openly: there is nothing to compare."""
        text = (
            "Only MIND's project page is at hand. It prints no table of results, so MIND takes part in the claims (its "
            "composition) and "
            "in no comparison of models."
        )
        return Section("mind", "MIND: printed tables", text, [self.table(_composition())])

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


def _composition() -> PaperTable:
    frame = load("mind_composition")
    return PaperTable("mind-composition", "MIND: videos by perspective and action space", frame, ["perspective", "action_space"])
