"""The first page of help: one page, every command under a heading, no sentence cut."""

import pytest
from lookback.cli.app import app
from lookback.cli.choices import VERBS
from typer.main import get_command
from typer.testing import CliRunner


def page(width):
    result = CliRunner().invoke(app, ["--help"], env={"COLUMNS": str(width)}, terminal_width=width)
    assert result.exit_code == 0
    return result.output


@pytest.mark.parametrize("width", [80, 120])
def test_the_words_are_whole_and_fit_one_page(width):
    shown = page(width)
    assert "..." not in shown.split("Options:")[1] and "…" not in shown
    assert len(shown.splitlines()) <= 60 and max(map(len, shown.splitlines())) <= width
    words = " ".join(shown.split())
    for command in get_command(app).commands.values():
        assert " ".join(command.get_short_help_str(limit=1000).split()) in words


def test_every_command_stands_under_its_heading_once():
    shown = page(80)
    commands = get_command(app).commands
    assert all(f"\n{title}:\n" in shown for title in VERBS) and "Others:" not in shown
    for title, names in VERBS.items():
        section = shown.split(f"\n{title}:\n")[1].split("\n\n")[0]
        listed = [line.split()[0] for line in section.splitlines() if line.startswith("  ") and not line.startswith("   ")]
        assert listed == [name for name in names if name in commands]
    placed = [name for names in VERBS.values() for name in names]
    assert set(commands) <= set(placed) and len(placed) == len(set(placed))


def test_the_names_of_before_still_work():
    known = set(get_command(app).commands)
    names = "list-metrics doctor eval validate prepare watch prompts generate construct report compare export agreement inspect"
    assert {*names.split(), "annotate", "selfcheck", "parity", "conditions", "study", "table"} <= known


def letters(text):
    """Without spaces and marks for the layout: lines may break anywhere."""
    return "".join(text.replace("\b", "").split())


def every_command(command, path=()):
    """A command and those below it, with the words that call them."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from every_command(below, (*path, name))


def test_no_help_of_any_command_is_cut(monkeypatch):
    """Each page holds its whole text, that of every option, and the first sentence of every command below."""
    main = get_command(app)
    monkeypatch.setattr("typer.testing._get_command", lambda _: main)  # it would be put together for every page
    for path, command in every_command(main):
        shown = CliRunner().invoke(app, [*path, "--help"], terminal_width=80).output
        words = letters(shown)
        texts = [command.help, *(getattr(each, "help", "") for each in command.params)]
        texts += [below.get_short_help_str(limit=1000) for below in getattr(command, "commands", {}).values()]
        missing = [text for text in texts if text and "{" not in text and letters(text) not in words]
        assert not missing and "…" not in shown, (path, missing)


@pytest.mark.parametrize("command", ["compare", "watch"])
def test_the_help_says_that_results_go_to_the_projects_folder(command):
    shown = " ".join(CliRunner().invoke(app, [command, "--help"], terminal_width=80).output.split())
    assert "outputs/" in shown and "of the project" in shown
