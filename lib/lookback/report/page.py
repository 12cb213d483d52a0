"""The one self-contained HTML file: sections, a table of contents, no external host."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup

from lookback.files import write_text
from lookback.report.figures.drawn import plotly_script


@dataclass
class Section:
    """A part of the report: a heading and HTML fragments made by the renderers (which escape what they are given)."""

    id: str
    title: str
    intro: str = ""
    fragments: list[str] = field(default_factory=list)

    @property
    def body(self) -> Markup:
        return Markup("\n".join(self.fragments))


def write_page(path: Path, title: str, subtitle: str, sections: list[Section], footer: str) -> None:
    """Render the sections into one HTML file."""
    environment = Environment(loader=PackageLoader("lookback.report", "templates"), autoescape=select_autoescape(["html"]))
    drawn = any('class="plot"' in part for section in sections for part in section.fragments)
    library = Markup(plotly_script() if drawn else "")
    page = environment.get_template("report.html").render(
        title=title, subtitle=subtitle, sections=sections, footer=footer, library=library
    )
    write_text(path, page)
