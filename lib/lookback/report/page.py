"""A report: its sections, the tables it collects, and the one HTML file that holds everything and loads nothing from outside."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup
from matplotlib.figure import Figure

from lookback.figures import save_figure
from lookback.files import write_text
from lookback.params import RunParams
from lookback.report.figures.drawn import plotly_script
from lookback.report.table import PaperTable


@dataclass
class Section:
    """A part of the report: a heading and HTML fragments. Whoever makes a fragment escapes its text."""

    id: str
    title: str
    intro: str = ""
    fragments: list[str] = field(default_factory=list)

    @property
    def body(self) -> Markup:
        return Markup("\n".join(self.fragments))


class Report:
    """Collects the tables of one run's report while its sections are made."""

    def __init__(self, params: RunParams):
        self.params = params
        self.written: dict[str, PaperTable] = {}

    def sections(self) -> list[Section]:
        """The sections in reading order."""
        raise NotImplementedError

    def table(self, table: PaperTable, most: int | None = None) -> str:
        """Keep the table so that it is saved in full, and return its HTML; `most` limits the rows on the page."""
        self.written[table.id] = table
        return table.to_html(most)

    def prose_table(self, table: PaperTable) -> str:
        """The same for a table whose cells are sentences."""
        return f'<div class="prose">{self.table(table)}</div>'

    def figure(self, figure: Figure, name: str, caption: str) -> str:
        """Save the figure in every format and return its HTML."""
        return save_figure(figure, self.params.paths.figures / "report", name, caption).to_html()


def write_page(path: Path, title: str, subtitle: str, sections: list[Section], footer: str) -> None:
    """Render the sections into one HTML file."""
    environment = Environment(loader=PackageLoader("lookback.report", "templates"), autoescape=select_autoescape(["html"]))
    drawn = any('class="plot"' in part for section in sections for part in section.fragments)
    library = Markup(plotly_script() if drawn else "")
    page = environment.get_template("report.html").render(
        title=title, subtitle=subtitle, sections=sections, footer=footer, library=library
    )
    write_text(path, page)
