"""Build the documentation as a static site: `make docs` writes outputs/docs/site, which opens from the disk without any host.

1. The pages of docs/ are copied to outputs/docs/pages, with CONTRIBUTING.md, CHANGELOG.md and tests/README.md among them. A link to
   a file that is no page becomes its path in the repository.
2. The notebooks become pages: the executed copies of a run (`--run demo`) where there are some, else without pictures.
3. mkdocs, from an environment of its own, makes the site. A broken link or anchor stops it.
4. The one script that the theme would load from another host, so that the search works from the disk, is replaced by our own.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import yaml
from lookback.files import write_text
from lookback.paths import project_root
from nbconvert import MarkdownExporter

ROOT = project_root()
DOCS = ROOT / "docs"
# pages from outside docs/, and the names they get
GUESTS = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "tests/README.md": "tests.md"}
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
# the pages of the reference, and the modules on each
REFERENCE = {
    "The ways in": ["lookback.api", "lookback.training"],
    "Metrics as functions": ["lookback.metrics.functional"],
    "Artifacts": ["lookback.artifacts.base", "lookback.artifacts.poses", "lookback.artifacts.masks", "lookback.artifacts.features"],
    "For plug-ins": ["lookback.registry", "lookback.benchmark", "lookback.backends.base", "lookback.judging.judges.base"],
    "Statistics": ["lookback.stats.agreement", "lookback.stats.intervals", "lookback.stats.comparisons", "lookback.stats.power"],
    "Errors": ["lookback.errors"],
}
SEARCH = "search_from_disk.js"
FROM_A_HOST = re.compile(r"https?://[^\"'> ]*iframe-worker[^\"'> ]*")
NO_COPIES = "*These notebooks were not run yet: `make report`, then `make docs`, shows them with their tables and pictures.*"


def stage(folder: Path, run: str) -> None:
    """Put every page of the site into a fresh folder."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = {path.relative_to(DOCS).as_posix(): path for path in sorted(DOCS.rglob("*.md"))}
    pages |= {name: ROOT / path for path, name in GUESTS.items()}
    for name, source in pages.items():
        write_text(folder / name, with_links(source, name, pages))
    for extra in ("pictures", "site.css", SEARCH):
        source = DOCS / extra
        if source.is_dir():
            shutil.copytree(source, folder / extra)
        elif source.is_file():
            shutil.copyfile(source, folder / extra)
    write_reference(folder / "reference")
    write_notebooks(folder / "notebooks", run)


def with_links(source: Path, name: str, pages: dict[str, Path]) -> str:
    """The page's text. Links lead to where the pages are in the site; a file that is no page is named by its path instead."""
    places = {path.resolve(): page for page, path in pages.items()}
    depth = "../" * name.count("/")

    def lead(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        file = (source.parent / target).resolve()
        if file in places:
            return f"[{words}]({depth}{places[file]}{anchor})"
        if file.is_relative_to(DOCS):  # a picture
            return f"[{words}]({depth}{file.relative_to(DOCS).as_posix()})"
        path = file.relative_to(ROOT.resolve()).as_posix()
        return f"`{path}`" if words.strip("`") in (path, Path(path).name, target) else f"{words} (`{path}`)"

    return LINK.sub(lead, source.read_text(encoding="utf-8"))


def write_reference(folder: Path) -> None:
    """The Python reference, a page for each group: the docstrings of the modules that a user calls."""
    lines = [
        "# Python reference",
        "",
        "Made from the docstrings. [From Python](../python.md) shows the calls that most people need.",
        "",
    ]
    for title, modules in REFERENCE.items():
        name = f"{title.lower().replace(' ', '_')}.md"
        lines.append(f"- [{title}]({name}): {', '.join(f'`{module}`' for module in modules)}")
        write_text(folder / name, "\n\n".join([f"# {title}", *(f"::: {module}" for module in modules)]) + "\n")
    write_text(folder / "index.md", "\n".join(lines) + "\n")


# notebooks


def write_notebooks(folder: Path, run: str) -> None:
    """Every notebook as a page, from the executed copy of a run where there is one, and a page that lists them."""
    lines = ["# The notebooks", "`make report` runs them in this order. The library computes; the notebooks show and explain.", ""]
    shown = 0
    for source in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")):
        executed = ROOT / "outputs" / run / "notebooks" / source.name
        shown += executed.is_file()
        title = notebook_page(executed if executed.is_file() else source, folder)
        lines.append(f"- [{title}]({source.stem}.md)")
    write_text(folder / "index.md", "\n".join([*lines, "", f"Shown as the run `{run}` left them." if shown else NO_COPIES]) + "\n")


def notebook_page(source: Path, folder: Path) -> str:
    """Write one notebook as a Markdown page with its pictures beside it; returns its title."""
    book = nbformat.read(source, as_version=4)
    book.cells = [cell for cell in book.cells if "injected-parameters" not in cell.metadata.get("tags", [])]
    for cell in book.cells:
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                output["data"] = {"text/html": html_block(output["data"]["text/html"])}
    text, resources = MarkdownExporter().from_notebook_node(book, {"unique_key": source.stem})
    for name, content in resources["outputs"].items():
        (folder / source.stem).mkdir(parents=True, exist_ok=True)
        (folder / source.stem / name).write_bytes(content)
        text = text.replace(f"]({name})", f"]({source.stem}/{name})")
    write_text(folder / f"{source.stem}.md", text)
    return next(line[2:] for line in text.splitlines() if line.startswith("# "))


def html_block(html: str) -> str:
    """HTML that Markdown leaves alone: one block without empty lines."""
    lines = (line.strip() for line in html.splitlines())
    return "<div class='notebook-output'>" + "\n".join(line for line in lines if line) + "</div>"


# the site


def navigation(entries: list[dict[str, object]], folder: Path) -> Iterator[dict[str, object]]:
    """The navigation without what is not there; the name of a folder stands for all pages in it."""
    for entry in entries:
        ((title, place),) = entry.items()
        if isinstance(place, list):
            yield {title: list(navigation(place, folder))}
        elif (folder / str(place)).is_dir():
            names = sorted(path.name for path in (folder / str(place)).glob("*.md") if path.name != "index.md")
            yield {title: [f"{place}/{name}" for name in ["index.md", *names]]}
        elif (folder / str(place)).is_file():
            yield {title: place}


def configured(pages: Path, site: Path) -> dict[str, object]:
    """The settings of mkdocs for these folders."""
    settings = yaml.safe_load((DOCS / "mkdocs.yml").read_text(encoding="utf-8"))
    for plugin in settings["plugins"]:
        if isinstance(plugin, dict) and "mkdocstrings" in plugin:
            plugin["mkdocstrings"]["handlers"]["python"]["paths"] = [str(ROOT / "lib")]
    settings |= {"docs_dir": str(pages), "site_dir": str(site), "nav": list(navigation(settings["nav"], pages))}
    return settings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default="demo", help="the run whose executed notebooks are shown")
    parser.add_argument("--mkdocs", default=str(ROOT / ".venv-docs" / "bin" / "mkdocs"), help="the program mkdocs")
    parser.add_argument("--output", type=Path, default=ROOT / "outputs" / "docs", help="the folder to write to")
    asked = parser.parse_args()
    output = asked.output.absolute()
    stage(output / "pages", asked.run)
    settings = output / "mkdocs.yml"
    write_text(settings, yaml.safe_dump(configured(output / "pages", output / "site"), sort_keys=False))
    done = subprocess.run(
        [asked.mkdocs, "build", "--strict", "--config-file", str(settings)],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        print("\n".join(line for line in done.stdout.splitlines() if not line.startswith("INFO")), file=sys.stderr)
        return done.returncode
    only_from_here(output / "site")
    print(f"open {output / 'site' / 'index.html'}")
    return 0


def only_from_here(site: Path) -> None:
    """Let every page load our script for the search instead of the theme's."""
    for page in site.rglob("*.html"):
        depth = "../" * (len(page.relative_to(site).parts) - 1)
        text = page.read_text(encoding="utf-8")
        write_text(page, FROM_A_HOST.sub(f"{depth}{SEARCH}", text))


if __name__ == "__main__":
    sys.exit(main())
