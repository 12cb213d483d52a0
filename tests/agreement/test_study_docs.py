"""The page docs/studies.md: its commands run as written, and its snippets are those of the examples."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml
from lookback.agreement.figures import draw
from lookback.agreement.plan import Plan
from lookback.cli.app import app
from lookback.cli.study import example
from lookback.paths import project_root
from typer.testing import CliRunner

PAGE = (project_root() / "docs" / "studies.md").read_text(encoding="utf-8")
SHELL, YAML, CSV = (re.findall(rf"^```{kind}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL) for kind in ("bash", "yaml", "csv"))


def run_line(line: str) -> str:
    """Run one line of the page in this process; `> FILE` writes what it prints."""
    command, _, target = line.partition(" > ")
    words = shlex.split(command)
    if words[0] == "sed":
        old, new = words[2].split("/")[1:3]
        Path(words[3]).write_text(Path(words[3]).read_text().replace(old, new))
        return ""
    assert words[0] == "lookback", line
    done = CliRunner().invoke(app, words[1:])
    assert done.exit_code == 0, (line, done.output, done.exception)
    if target:
        Path(target).write_text(done.output)
    return done.output


@pytest.mark.parametrize("number", range(len(SHELL)))
def test_the_pages_commands_run_as_written(number, tmp_path, monkeypatch):
    monkeypatch.setenv("LOOKBACK_ROOT", str(project_root()))
    monkeypatch.chdir(tmp_path)
    if "freeze" in SHELL[number]:  # its study is that of the ratings, whose figures another block draws
        monkeypatch.setattr(draw, "draw_figures", lambda tables, folder: [])
    said = [run_line(line) for line in SHELL[number].splitlines()]
    assert (tmp_path / "results" / "main.csv").is_file() == ("--output results" in SHELL[number])
    if "freeze" in SHELL[number]:
        page = (tmp_path / "results" / "agreement.md").read_text()
        assert "because two annotators were too few" in page
        assert "votes.csv was not there. The tool cannot know more than this." in said[4]
        assert "When amendment 1 was recorded" in said[-1]
        assert "votes.csv was already there with the same content" in said[-1]


def test_every_kind_has_commands_a_plan_and_rows():
    assert [kind for kind in ("pairwise", "trigger", "rating") if f"--template {kind} >" in "".join(SHELL)] == [
        "pairwise",
        "trigger",
        "rating",
    ]
    plans = [snippet for snippet in YAML if snippet.startswith("scales:")]
    for kind, snippet, rows in zip(("pairwise", "trigger", "rating"), plans, CSV, strict=False):
        whole, shown = yaml.safe_load(example(kind, "plan")), yaml.safe_load(snippet)
        Plan.model_validate(shown)
        for part in ("scales", "families"):
            assert shown[part] == whole[part], kind
        assert rows.splitlines()[0] == example(kind, "votes").splitlines()[0]
        assert rows.splitlines()[1] in example(kind, "votes").splitlines()
    for snippet in set(YAML) - set(plans):  # some keys of a plan
        Plan.model_validate(yaml.safe_load(example("pairwise", "plan")) | yaml.safe_load(snippet))


def test_every_key_of_a_plan_is_explained():
    keys = {*Plan.model_fields} - {"families", "scales"}
    table = PAGE.partition("## The plan")[2].partition("## Freezing")[0]
    assert [key for key in sorted(keys) if not re.search(rf"`{key}[:`]", table)] == []
