"""A report as a small site: one file to open, the other pages, the pictures and the search index in the folder beside it.

All links are relative and nothing is loaded from outside, so a folder or an unpacked zip opens without a server. Authors of
sections write links as `#place`; the writer finds the page that holds the place. Pictures inside fragments become files.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup
from matplotlib.figure import Figure

from lookback.figures import save_figure
from lookback.files import copy_folder, write_bytes, write_text
from lookback.params import RunParams
from lookback.report.figures.drawn import plotly_script
from lookback.report.fitting import fitted
from lookback.report.table import PaperTable

ID = re.compile(r'\sid="([^"]+)"')
HERE = re.compile(r'href="#([^"]+)"')
PICTURE = re.compile(r'(src|poster)="data:image/(jpeg|webp|png);base64,([^"]+)"')
TAG = re.compile(r"<textarea.*?</textarea>|<script.*?</script>|<button.*?</button>|<[^>]*>", re.S)
ASSETS = ("site.css", "site.js")
FOUND_TEXT = 110  # characters of a place in the search index
LOOKED_AT = 1200  # characters of HTML from which they are taken
COPIED_ROWS = 200  # a longer table has no copy buttons: its files hold it


@dataclass
class Section:
    """A page of the report: a heading and HTML fragments. Whoever makes a fragment escapes its text."""

    id: str
    title: str
    intro: str = ""
    fragments: list[str] = field(default_factory=list)
    group: str = ""  # pages of one group stand together in the navigation

    @property
    def body(self) -> Markup:
        return Markup("\n".join(self.fragments))


class Report:
    """Collects the tables of one run's report while its pages are made."""

    def __init__(self, params: RunParams):
        self.params = params
        self.written: dict[str, PaperTable] = {}

    def sections(self) -> list[Section]:
        """The pages in reading order; the first is the one that opens."""
        raise NotImplementedError

    def table(self, table: PaperTable, most: int | None = None, fit: bool = False, shown: Sequence[str] = ()) -> str:
        """Keep the table so that it is saved in full, and return its HTML with buttons that copy it.

        `most` limits the rows on the page, `shown` names the columns on the page; `fit` leaves out columns so that it is no wider
        than the page.
        """
        self.written[table.id] = table
        part = replace(table, frame=table.frame[[name for name in shown if name in table.frame]]) if shown else table
        return (fitted(part) if fit else part).to_html(most, tools=_copies(table) if len(table.frame) <= COPIED_ROWS else "")

    def prose_table(self, table: PaperTable) -> str:
        """The same for a table whose cells are sentences."""
        return f'<div class="prose">{self.table(table)}</div>'

    def figure(self, figure: Figure, name: str, caption: str) -> str:
        """Save the figure in every format and return its HTML."""
        return save_figure(figure, self.params.paths.figures / "report", name, caption).to_html()


def _copies(table: PaperTable) -> str:
    """Buttons that copy the table, with what they copy."""
    forms = (("LaTeX", table.to_latex()), ("CSV", table.to_csv()))
    return "".join(
        f'<button type="button" class="copy">Copy {name}</button><textarea hidden readonly>{html.escape(text)}</textarea>'
        for name, text in forms
    )


def site_folder(entry: Path) -> Path:
    """Where the pages beside the entry page lie."""
    return entry.with_suffix("")


def write_page(path: Path, title: str, subtitle: str, sections: Sequence[Section], footer: str) -> None:
    """Write the site: the first section is the file `path`, the others lie in the folder of the same name."""
    folder = site_folder(path)
    pages = [replace(section, fragments=[_with_files("\n".join(section.fragments), folder)]) for section in sections]
    places = {place: page.id for page in reversed(pages) for place in [*ID.findall(page.fragments[0]), page.id]}
    drawn = [bool('class="plot"' in page.fragments[0]) for page in pages]
    template = _environment().get_template("site.html")
    for number, page in enumerate(pages):
        prefix, entry = (f"{folder.name}/", "") if number == 0 else ("", f"../{path.name}")
        hrefs = {other.id: _href(other.id, pages[0].id, prefix, entry) for other in pages}
        body = Markup(_resolved(page, places, hrefs, prefix))
        text = template.render(
            title=title, subtitle=subtitle if number == 0 else "", page=page, body=body, groups=_groups(pages), hrefs=hrefs,
            footer=footer, prefix=prefix, drawn=drawn[number],
        )  # fmt: skip
        write_text(path if number == 0 else folder / f"{page.id}.html", text)
    for name in ASSETS:
        shutil.copyfile(Path(__file__).parent / "templates" / name, _made(folder) / name)
    if any(drawn):
        write_text(folder / "plotly.js", plotly_script())
    write_text(folder / "search.js", f"window.lookbackPlaces = {json.dumps(_index(pages), ensure_ascii=False)};\n")


def copy_site(entry: Path, target: Path) -> None:
    """Copy a written site so that `target` is the file to open; its pages follow under the target's name."""
    names = {f'="{site_folder(entry).name}/': f'="{site_folder(target).name}/', f'="../{entry.name}': f'="../{target.name}'}
    copy_folder(site_folder(entry), site_folder(target))
    for source, copy in ((entry, target), *((page, page) for page in sorted(site_folder(target).glob("*.html")))):
        text = source.read_text(encoding="utf-8")
        for old, new in names.items():
            text = text.replace(old, new)
        write_text(copy, text)


def _environment() -> Environment:
    return Environment(loader=PackageLoader("lookback.report", "templates"), autoescape=select_autoescape(["html"]))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _groups(pages: Sequence[Section]) -> list[tuple[str, list[Section]]]:
    """The pages in order, neighbours of one group together."""
    return [(name, list(members)) for name, members in groupby(pages, key=lambda page: page.group)]


def _href(page: str, first: str, prefix: str, entry: str) -> str:
    return (entry or "#top") if page == first else f"{prefix}{page}.html"


def _with_files(body: str, folder: Path) -> str:
    """The fragments with their pictures as files."""

    def filed(found: re.Match[str]) -> str:
        content = base64.b64decode(found[3])
        name = f"pictures/{hashlib.sha256(content).hexdigest()[:16]}.{found[2]}"
        if not (folder / name).exists():
            write_bytes(folder / name, content)
        return f'{found[1]}="site:{name}"'

    return PICTURE.sub(filed, body)


def _resolved(page: Section, places: dict[str, str], hrefs: dict[str, str], prefix: str) -> str:
    """The body with links to other pages, and files, as addresses that work from this page."""
    own = set(ID.findall(page.fragments[0]))

    def address(found: re.Match[str]) -> str:
        place = html.unescape(found[1])
        holder = places.get(place)
        if place in own or holder is None:
            return found[0]
        target = hrefs[holder]
        mark = "" if place == holder else f"#{found[1]}"
        return f'href="{target if target != "#top" else ""}{mark or ("#top" if target == "#top" else "")}"'

    return HERE.sub(address, page.fragments[0]).replace('="site:', f'="{prefix}')


def _index(pages: Sequence[Section]) -> list[tuple[str, str, str]]:
    """(page, place, words) of everything that can be found: pages, and what has an id on them."""
    found: list[tuple[str, str, str]] = []
    for number, page in enumerate(pages):
        name = "" if number == 0 else page.id
        found.append((name, "", f"{page.title}. {page.intro}"[:FOUND_TEXT]))
        body = page.fragments[0]
        for match in ID.finditer(body):
            start = body.find(">", match.end()) + 1
            words = " ".join(html.unescape(TAG.sub(" ", body[start : start + LOOKED_AT] + ">")).split())
            if words:
                found.append((name, match[1], words[:FOUND_TEXT]))
    return found
