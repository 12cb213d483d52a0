"""Every table of the report: the same numbers in HTML, CSV and LaTeX, and the numbers of the Parquet they came from."""

import io
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lookback.benchmarks.memobench.report import COLUMNS as MEMOBENCH
from lookback.params import RunParams
from lookback.report.build import ReportBuilder
from lookback.report.figures.drawn import plotly_script
from lookback.report.table import DASH, PaperTable
from lookback.scoring.variants import only_chosen
from lookback.tables import read_table
from pandas.testing import assert_frame_equal


@pytest.fixture(scope="module")
def tables(params: RunParams) -> dict[str, PaperTable]:
    builder = ReportBuilder(params)
    builder.sections()
    return builder.written


class Cells(HTMLParser):
    """The text of a table's body cells, row by row; what stands small behind a number is left out."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = self.small = self.body = False

    def handle_starttag(self, tag, attributes):
        self.body |= tag == "tbody"
        if tag == "tr" and self.body:
            self.rows.append([])
        elif tag in ("td", "th") and self.body:
            self.inside = True
            self.rows[-1].append("")
        elif tag == "small":
            self.small = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.inside = False
        elif tag == "small":
            self.small = False

    def handle_data(self, text):
        if self.inside and not self.small:
            self.rows[-1][-1] += text


def as_number(text: str) -> float:
    bare = re.sub(r"\\(textbf|underline)\{(.*)\}", r"\2", text.strip()).replace(",", "").replace("\u2013", "--")
    return np.nan if bare == "" or bare.startswith(("--", DASH)) else float(re.match(r"-?[\d.]+(e-?\d+)?", bare)[0])


def test_html_csv_and_latex_say_the_same(tables: dict[str, PaperTable]):
    assert len(tables) > 20
    for name, table in tables.items():
        csv = pd.read_csv(io.StringIO(table.to_csv()))
        parser = Cells()
        parser.feed(table.to_html())
        parts = re.findall(r"\\midrule\n(.*?)\n\\bottomrule", table.to_latex(), re.S)
        latex = [line.removesuffix(r" \\") for part in parts for line in part.splitlines()]
        assert len(csv) == len(parser.rows) == len(latex) == len(table.frame), name
        for column in table.numbers:
            place = list(table.frame.columns).index(column)
            if not pd.api.types.is_numeric_dtype(table.frame[column].dtype):
                continue
            exact = csv[column].to_numpy(float)
            half = 0.5 * 10.0 ** -np.array(table.places(column), float) + 1e-9
            shown = [as_number(row[place]) for row in parser.rows]
            printed = [as_number(re.split(r"(?<!\\)&", line)[place]) for line in latex]
            for form, cells in (("HTML", shown), ("LaTeX", printed)):
                np.testing.assert_array_equal(np.isnan(cells), np.isnan(exact), err_msg=f"{name}, {column}: {form}")
                apart = np.abs(np.array(cells) - exact)
                assert not (apart > half).any(), f"{name}, {column}: {form} {cells} {exact}"


def test_memobench_cells_are_means_of_the_parquet(tables: dict[str, PaperTable], params: RunParams):
    """Recomputed with plain pandas from gated.parquet."""
    items = only_chosen(read_table(params.paths.tables, "gated"), params)
    frame = tables["memobench-2"].frame.set_index("model")
    for column in MEMOBENCH:
        own = items[(items["metric"] == column.metric) & (items["phase"] == "")]
        expected = own.groupby("model_id")["value"].mean() * column.scale
        np.testing.assert_allclose(frame[column.header], expected.reindex(frame.index), err_msg=column.header)
    drop = tables["memobench-s6"].frame.set_index("model")
    own = items[items["metric"] == "memobench.psnr"].pivot_table(index="model_id", columns="phase", values="value")
    np.testing.assert_allclose(drop["PSNR drop"], (own["V"] - own["R"]).reindex(drop.index))


def test_the_sweep_of_a_constant_keeps_what_it_compares(tables: dict[str, PaperTable], params: RunParams):
    """Table S7: over every clip of every model; a wider tau never makes motion look less smooth (exp(-e / tau))."""
    frame = tables["memobench-s7"].frame
    smooth = frame[frame["constant"] == "smoothness_tau"].sort_values("value")
    assert smooth["kendall_tau"].between(-1.0, 1.0).all()
    assert smooth["mean"].is_monotonic_increasing
    items = only_chosen(read_table(params.paths.tables, "items"), params)
    own = items[(items["metric"] == "memobench.motion_smoothness") & (items["phase"] == "")]
    assert smooth["default_mean"].to_numpy() == pytest.approx(own["value"].mean())
    assert (smooth["pairs"] == own["value"].count()).all()
    assert (frame.loc[frame["constant"] == "depth_samples", "why"] != "").all(), (
        "no depth in the demo's generated clips: it says so"
    )


def test_wrbench_cells_are_means_of_the_parquet(tables: dict[str, PaperTable], params: RunParams):
    items = only_chosen(read_table(params.paths.tables, "gated"), params)
    clips = read_table(params.paths.tables, "clips")
    joined = items.merge(clips[["benchmark", "setting", "model_id", "clip_id", "event_level", "camera"]])
    main = tables["wrbench-2"].frame.set_index("model")
    integrity = items[items["metric"] == "wrbench.visual_integrity"].groupby("model_id")["value"].mean()
    np.testing.assert_allclose(main["Integ."], integrity.reindex(main.index))
    support = joined[joined["metric"] == "wrbench.support"]
    access = tables["wrbench-3"].frame
    assert access["Support %"].is_monotonic_decreasing
    np.testing.assert_allclose(
        access.set_index("interface")["Support %"], 100 * support.groupby("model_id")["value"].mean().reindex(access["interface"])
    )
    levels = tables["wrbench-8"].frame.set_index("level")
    np.testing.assert_allclose(
        levels["Support %"], 100 * support.groupby("event_level")["value"].mean().reindex(levels.index.str.replace("-only", ""))
    )
    turns = tables["wrbench-13"].frame.set_index("model")
    right_to_left = support[support["camera"] == "yaw_RL"].groupby("model_id")["value"].sum()
    assert turns["RL count"].to_dict() == right_to_left.reindex(turns.index).astype(int).to_dict()


def test_mbench_cells_are_m_scores(tables: dict[str, PaperTable], params: RunParams):
    """T: the harmonic mean of the triggered clips' mean and their share (MBench eq. 3); A: the plain mean."""
    items = only_chosen(read_table(params.paths.tables, "gated"), params)
    for setting, prefix in (("t", "mbencht"), ("a", "mbencha")):
        frame = tables[f"mbench-2-{setting}"].frame.set_index("model")
        own = items[items["metric"] == f"{prefix}.entity.human_identity_consistency"]
        expected = own.groupby("model_id")["value"].mean()
        if setting == "t":
            fired = (own["reason"] != "not_triggered").groupby(own["model_id"]).mean()
            expected = expected.fillna(0.0)
            expected = (2 * expected * fired / (expected + fired)).fillna(0.0)
        np.testing.assert_allclose(frame["Human identity"], 100 * expected.reindex(frame.index))


def test_the_page_holds_the_tables_and_no_outside_address(finished: Path, tables: dict[str, PaperTable]):
    texts = [path.read_text() for path in [finished / "report.html", *(finished / "report").glob("*.html")]]
    page = "".join(texts)
    assert all(f'id="{name}"' in page for name in tables)
    assert set(re.findall(r"""(?:src|href)=["'](https?://[^/]+/)""", page)) <= {"http://127.0.0.1:8866/"}, "the inspector's links"
    scripts = {source for text in texts for source in re.findall(r'<script[^>]+src="([^"]+)"', text)}
    assert {source.removeprefix("report/") for source in scripts} == {"plotly.js", "site.js"}
    assert (finished / "report" / "plotly.js").read_text() == plotly_script()
    assert max(map(len, texts)) < 3e6
    for name, table in tables.items():
        written = pd.read_csv(finished / "tables" / "report" / f"{name}.csv")
        assert_frame_equal(
            written, pd.read_csv(io.StringIO(table.to_csv())), rtol=1e-8, obj=name
        )  # numba is here and was not there
