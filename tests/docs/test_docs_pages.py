"""The documentation: links lead somewhere, generated pages are fresh, the navigation is whole, and commands exist."""

import re
import shlex
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from lookback.cli.app import app
from lookback.demo.plan import demo_plan
from lookback.desk.settings import load_settings
from lookback.errors import Reason
from own_environment import environment_with
from typer.main import get_command

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))
import build_site
import write_pages

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *(ROOT / name for name in build_site.GUESTS), *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE)
SHELL = re.compile(r"```(?:sh|bash)\n(.*?)```", re.DOTALL)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and mkdocs make them."""
    headings = re.findall(r"^#+ +(.*)$", FENCE.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_leads_to_a_file_and_an_anchor(page: Path):
    broken = []
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if "://" in target or target.startswith("mailto:"):
            continue
        place, _, anchor = target.partition("#")
        file = (page.parent / place).resolve() if place else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


def test_the_generated_pages_are_what_the_code_gives():
    stale = [named(path) for path, text in write_pages.pages().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run python docs/write_pages.py"


def test_every_page_stands_in_the_navigation_once():
    listed = places(yaml.safe_load((DOCS / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    own = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} | set(build_site.GUESTS.values())
    folders = {name for name in listed if "." not in name}
    assert folders == {"notebooks", "reference"}
    assert len(listed) == len(set(listed)) and set(listed) == own | folders


def places(nav: list) -> list[str]:
    found = []
    for entry in nav:
        for place in entry.values():
            found += places(place) if isinstance(place, list) else [place]
    return found


def shell_lines() -> list[tuple[str, str]]:
    """The commands in the pages' blocks for the shell, continued lines put together."""
    found = []
    for page in PAGES:
        for block in SHELL.findall(page.read_text(encoding="utf-8")):
            lines = block.replace("\\\n", " ").splitlines()
            found += [(named(page), line.strip()) for line in lines if re.match(r"\s*(lookback|make) ", line)]
    return found


def test_every_command_of_the_pages_exists_with_its_options():
    commands, wrong = get_command(app), []
    makefiles = (ROOT / "Makefile").read_text() + (ROOT / "lib/lookback/project/Makefile").read_text()
    targets = {name for line in re.findall(r"^([\w $()-]+):(?!=)", makefiles, re.MULTILINE) for name in line.split()}
    stages = set(re.search(r"^STAGES := (.*)$", makefiles, re.MULTILINE)[1].split())
    lines = shell_lines()
    assert len(lines) > 40
    for page, line in lines:
        for part in re.split(r"&&|\||;", line.split(" # ")[0].split("   #")[0]):
            words = shlex.split(part)
            if words[:1] == ["make"]:
                asked = [word for word in words[1:] if "=" not in word]
                wrong += [(page, line)] if set(asked) - targets - stages else []
            elif words[:1] == ["lookback"]:
                wrong += [] if known(commands, words[1:]) else [(page, line)]
    assert wrong == []


def known(command, words: list[str]) -> bool:
    """Whether the words name a command, and its options are the command's own."""
    while hasattr(command, "commands"):
        if not words or words[0] not in command.commands:
            return bool(words) and words[0] == "--help"
        command, words = command.commands[words[0]], words[1:]
    own = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}
    return {word.split("=")[0] for word in words if word.startswith("--")} <= own


def test_the_readme_is_short_shows_three_pictures_and_names_the_demos_datasets():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    pictures = re.findall(r"!\[[^]]+\]\((docs/pictures/\w+\.webp)\)", text)
    assert len(set(pictures)) == 3 and all((ROOT / name).stat().st_size < 200_000 for name in pictures)
    sources = re.findall(r"^lookback (?:eval|validate) (\S+)", text, re.MULTILINE)
    assert sources and all(source.startswith("outputs/demo/datasets/") for source in sources)


def test_the_study_of_the_annotation_page_is_one_of_the_demo(tmp_path: Path):
    block = re.search(r"```yaml\n(# pilot.yaml.*?)```", (DOCS / "annotation.md").read_text(), re.DOTALL)
    assert block is not None
    (tmp_path / "pilot.yaml").write_text(block[1])
    settings = load_settings(tmp_path / "pilot.yaml")
    made = {(clip.task.clip_id, clip.model_id) for clip in demo_plan()}
    for item in (*settings.gold, *settings.training):
        assert {(item.clip, item.model_a), (item.clip, item.model_b)} <= made


def test_the_reasons_that_the_faq_explains_exist():
    rows = re.findall(r"^\| (`[^|]*) \|", (DOCS / "faq.md").read_text(encoding="utf-8"), re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert told and told <= {str(reason.value) for reason in Reason}


# the staged pages


def test_links_to_files_outside_docs_become_paths_and_guests_become_pages(tmp_path: Path):
    page = DOCS / "a.md"  # need not exist: its text is read from another place
    source = tmp_path / "page.md"
    source.write_text("[c](CONTRIBUTING.md) [m](Makefile) ![p](docs/pictures/x.webp) [o](https://example.org)", encoding="utf-8")
    known_pages = {"contributing.md": ROOT / "CONTRIBUTING.md", "sub/a.md": page}

    class Elsewhere(type(source)):
        """A page of the root folder with a text of its own."""

        def read_text(self, encoding: str = "utf-8") -> str:
            return source.read_text(encoding=encoding)

    told = build_site.with_links(Elsewhere(ROOT / "README.md"), "sub/a.md", known_pages)
    assert told == "[c](../contributing.md) m (`Makefile`) ![p](docs/pictures/x.webp) [o](https://example.org)"


def test_an_executed_notebook_becomes_a_page_with_its_pictures_and_tables(tmp_path: Path):
    picture = nbformat.v4.new_output("display_data", {"image/png": "iVBORw0KGgo=", "text/plain": "<Figure>"})
    table = nbformat.v4.new_output("display_data", {"text/html": "<table>\n\n<tr><td>7</td></tr></table>", "text/plain": "7"})
    cells = [
        nbformat.v4.new_markdown_cell("# 10 Title"),
        nbformat.v4.new_code_cell("run = 'x'", metadata={"tags": ["injected-parameters"]}),
        nbformat.v4.new_code_cell("show()", outputs=[picture, table]),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "10_x.ipynb")
    assert build_site.notebook_page(tmp_path / "10_x.ipynb", tmp_path / "pages") == "10 Title"
    text = (tmp_path / "pages" / "10_x.md").read_text()
    (shown,) = re.findall(r"\]\((10_x/\S+\.png)\)", text)
    assert (tmp_path / "pages" / shown).read_bytes() == b"\x89PNG\r\n\x1a\n"
    assert "<div class='notebook-output'><table>\n<tr><td>7</td></tr></table></div>" in text and "run = 'x'" not in text


def test_the_navigation_leaves_out_what_is_not_there_and_opens_folders(tmp_path: Path):
    for name in ("a.md", "books/index.md", "books/1.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    nav = [{"A": "a.md"}, {"More": [{"Gone": "gone.md"}, {"Books": "books"}]}]
    assert list(build_site.navigation(nav, tmp_path)) == [{"A": "a.md"}, {"More": [{"Books": ["books/index.md", "books/1.md"]}]}]


def test_no_page_of_the_site_loads_a_script_from_another_host(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    page = tmp_path / "sub" / "a.html"
    page.write_text('<script src="https://unpkg.com/iframe-worker/shim"></script>')
    build_site.only_from_here(tmp_path)
    assert page.read_text() == '<script src="../search_from_disk.js"></script>'


@pytest.mark.long
def test_the_site_is_built_whole_and_loads_nothing_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    programs = environment_with(tmp_path / "environment", "-r", str(DOCS / "requirements.lock"))
    monkeypatch.setattr(sys, "argv", ["build_site", "--output", str(tmp_path), "--mkdocs", str(programs / "mkdocs")])
    assert build_site.main() == 0
    site = tmp_path / "site"
    assert {"index.html", "faq.html", "search"} <= {path.name for path in site.iterdir()}
    loaded = r"<(?:script|link|img|iframe)[^>]*?(?:src|href)=[\"']?(?:https?:)?//"
    assert [path.name for path in site.rglob("*.html") if re.search(loaded, path.read_text(encoding="utf-8"))] == []
