"""What has no content is not shown: empty tables, zero columns, and sections of an executed notebook without an output."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pandas as pd
from lookback import notebook
from lookback.pipeline.execute import hide_empty_sections
from lookback.report.stage_tables import with_content
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output


def test_an_empty_table_is_not_shown_in_a_notebook(monkeypatch):
    shown: list[object] = []
    monkeypatch.setattr(notebook, "display", shown.append)
    notebook.show_table(pd.DataFrame(columns=["judge", "task"]), caption="answers")
    assert shown == []
    notebook.show_table(pd.DataFrame({"judge": ["a"]}))
    assert len(shown) == 1


def test_columns_of_zeros_are_left_out_and_a_table_of_zeros_is_empty():
    counts = pd.DataFrame({"model_id": ["a", "b"], "clips": [2, 2], "cut": [0, 1], "melt": [0, 0], "drift": [float("nan"), 0.0]})
    assert list(with_content(counts, ["model_id"])) == ["model_id", "clips", "cut"]
    assert with_content(counts.assign(cut=0), ["model_id"]).empty
    words = pd.DataFrame({"label": ["x"], "when": ["always"]})
    assert with_content(words, ["label", "when"]).equals(words)


def test_a_section_that_shows_nothing_loses_its_text_and_keeps_its_code_folded(tmp_path: Path):
    book = new_notebook(
        cells=[
            new_markdown_cell("# 40 Judging"),
            new_markdown_cell("## Parameters"),
            new_code_cell("run = 'x'", metadata={"tags": ["parameters"]}),
            new_markdown_cell("## Answers"),
            new_code_cell("answers = []"),
            new_markdown_cell("## Frames"),
            new_code_cell("print(1)", outputs=[new_output("stream", text="1\n")]),
            new_markdown_cell("## What this does not show"),
        ]
    )
    path = tmp_path / "book.ipynb"
    nbformat.write(book, path)
    hide_empty_sections(path)
    cells = nbformat.read(path, as_version=4).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    assert texts == ["# 40 Judging", "## Parameters", "## Frames", "## What this does not show"]
    silent = next(cell for cell in cells if cell.source == "answers = []")
    assert silent.metadata["jupyter"]["source_hidden"] is True


def test_text_within_a_section_goes_with_its_silent_code_and_the_heading_stays_while_anything_shows(tmp_path: Path):
    shows = {"outputs": [new_output("stream", text="1\n")]}
    cells = [
        new_markdown_cell("## People"), new_code_cell("first"), new_markdown_cell("Is one unlike the others?"),
        new_code_cell("second", **shows), new_markdown_cell("Pair by pair:"), new_code_cell("third"),
        new_markdown_cell("## Limits"), new_code_cell("fourth"), new_markdown_cell("- The intervals are about these."),
    ]  # fmt: skip
    path = tmp_path / "book.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    hide_empty_sections(path)
    left = [cell.source for cell in nbformat.read(path, as_version=4).cells]
    assert left == ["## People", "first", "Is one unlike the others?", "second", "third", "fourth"]
