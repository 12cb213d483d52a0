"""The report of printed tables builds without a dataset, and shows what the tables hold."""

from __future__ import annotations

import html
import re

import pandas as pd
import pytest
from lookback.errors import UsageError
from lookback.params import load_run
from lookback.pipeline.dag import STAGES, stage_named, stages_of
from lookback.published import load
from lookback.published.printed import printed_papers
from lookback.report.cards import show_cards


@pytest.fixture(scope="module")
def page(built):
    entry = built[0].paths.report
    return "".join(path.read_text() for path in [entry, *sorted(entry.with_suffix("").glob("*.html"))])


def test_the_run_is_its_report_alone():
    assert [stage.name for stage in stages_of(load_run("published"))] == ["report"]
    assert stages_of(load_run("demo")) == list(STAGES)


def test_the_notebook_has_no_clips_to_show(capsys):
    show_cards(load_run("published"), 3)
    assert capsys.readouterr().out == ""


def test_another_stage_of_the_run_is_refused_with_a_sentence():
    with pytest.raises(UsageError, match="has no stage 'scoring'"):
        stages_of(load_run("published"), stage_named("scoring"))


def test_no_external_host_is_asked_for(page):
    assert not re.findall(r'(?:src|href)="(?:[a-z]+:|//)(?<!data:)[^"]*"', page)
    assert not [text for text in re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL) if text.strip()]


def test_disagreements_stand_before_everything_that_agrees(page):
    assert page.index('id="claims-disagree"') < page.index('id="claims-open"') < page.index('id="claims-agree"')
    assert "No model exceeds an Object Reappearance Score of 0.4" in html.unescape(page)


def test_every_link_leads_to_a_page_and_a_place(built):
    entry = built[0].paths.report
    pages = {path: path.read_text() for path in [entry, *entry.with_suffix("").glob("*.html")]}
    assert len(pages) > 5
    for path, text in pages.items():
        for target, place in re.findall(r'href="([^"#:]*)(?:#([^"]+))?"', text):
            other = (path.parent / target).resolve() if target else path
            assert other.is_file(), (path.name, target)
            assert not place or f'id="{place}"' in other.read_text(), (path.name, target, place)


def test_every_table_is_written_as_csv_latex_and_html(built):
    params, tables = built
    folder = params.paths.tables / "report"
    for name, table in tables.items():
        read = pd.read_csv(folder / f"{name}.csv", keep_default_na=False)
        assert read.shape == table.frame.shape
        latex, fragment = (folder / f"{name}.tex").read_text(), (folder / f"{name}.html").read_text()
        assert latex.count(r"\\") >= len(table.frame) + 1
        assert fragment.count("<tr>") == len(table.frame) + 1


@pytest.mark.parametrize(
    "printed", [part for paper in printed_papers().values() for part in paper.tables], ids=lambda part: part.id
)
def test_printed_numbers_arrive_unchanged(built, page, printed):
    table = built[1][printed.id]
    source = load(printed.name)
    for column, value in printed.where.items():
        source = source[source[column] == value]
    for column in table.numbers:
        pd.testing.assert_series_equal(table.frame[column], source[column].reset_index(drop=True))
    fragment = page[page.index(f'id="{printed.id}"') :].split("</table>")[0]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", fragment)
    expected = [text for row in zip(*map(table.texts, table.numbers), strict=True) for text in row]
    assert [html.unescape(re.sub(r"<small>.*?</small>|<[^>]+>", "", cell)) for cell in cells] == expected


def test_best_and_second_best_are_marked_as_the_papers_do(built):
    # MemoBench underlines its second best over all models; WRBench marks within the condition type
    for row in load("memobench_underlined").itertuples():
        table = next(built[1][name] for name in ("memobench-2", "memobench-3") if row.column in built[1][name].frame.columns)
        marked = table.frame.loc[table.marks[row.column] == "second", "model"]
        assert marked.tolist() == [row.model]
    wrbench = built[1]["wrbench-2"]
    best = wrbench.frame.loc[wrbench.marks["avg"] == "best", ["condition_type", "model"]]
    assert best.set_index("condition_type")["model"].to_dict() == {
        "source-video": "InSpatio World 14B",
        "geometry-cache": "Gen3C",
        "model-inferred": "Wan-Fun 2.2-A14B",
        "prompt-only": "HappyHorse 1.0 I2V",
    }


def test_sparse_rows_carry_the_dagger(built):
    table = built[1]["wrbench-2"]
    daggers = table.suffixes["reobs_state"] == "†"
    assert daggers.tolist() == load("wrbench_table2")["sparse"].tolist()


def test_figures_come_in_three_formats_with_alternative_text(built, page):
    folder = built[0].paths.figures / "report"
    names = {path.stem for path in folder.glob("*.png")}
    assert names == {"claims", "wrbench_figure4", "overall_ranks", "shared_models", "dimension_matrix", "dimension_blocks"}
    for name in names:
        assert (folder / f"{name}.svg").is_file()
        assert (folder / f"{name}.pdf").is_file()
    assert page.count("<img") == len(names)
    assert all(len(text) > 60 for text in re.findall(r'<img[^>]* alt="([^"]*)"', page))
