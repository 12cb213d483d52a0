"""Text from outside stays text: on pages, in notebooks, in Markdown, and in CSV files that a spreadsheet opens."""

import json
import math
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from hostile_text import ALL, IMAGE, LINK, MARKDOWN, SCRIPT, WORDS, write_hostile_pages
from lookback.agreement import read_ratings, save_tables
from lookback.agreement.files import read_csv_texts
from lookback.clips import KEYS, Clip
from lookback.errors import ContractError
from lookback.figures import save_figure
from lookback.report.behind import Behind
from lookback.report.figures.drawn import fragment
from lookback.report.model_table import Column, model_table
from lookback.report.places import anchor
from lookback.report.table import PaperTable
from lookback.tables import csv_text, empty_table, read_csv
from matplotlib import pyplot as plt
from plotly import graph_objects as go

PROJECT = Path(__file__).resolve().parents[2]
FORMULAS = ['=HYPERLINK("https://evil.example","x")', "+1+2", "-2+3", "@SUM(A1)", "\t=1", "'=1", "''@x", "=1\n=2", "-a, b"]
PLAIN = ["-1", "+2", "-0.5", "1e-3", "-inf", "-", "=", "'quoted'", "a=b", "", "模型", "– no", "'-'"]


class Tags(HTMLParser):
    """Tags with their attributes, and the text between them (scripts and styles left out)."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open = ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.open = tag
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        self.open = ""

    def handle_data(self, text):
        self.text += text if self.open not in ("script", "style") else ""


def test_no_tag_and_no_attribute_of_the_page_comes_from_outside(tmp_path, monkeypatch):
    text, pictures = "", []
    for path, scripts in zip(write_hostile_pages(tmp_path, monkeypatch), (1, 3), strict=True):
        page = Tags(path.read_text())
        pictures += [path.parent / attributes["src"] for tag, attributes in page.tags if tag == "img"]
        assert not [attributes for _, attributes in page.tags if any(name.startswith("on") for name in attributes)]
        assert not [attributes for tag, attributes in page.tags if attributes.get("class") == "bait"]
        assert sum(tag == "script" for tag, _ in page.tags) == scripts  # the site's own; plotly and a figure's data
        links = [attributes["href"] or "" for tag, attributes in page.tags if tag == "a"]
        assert not [link for link in links if ":" in link and not link.startswith("http://127.0.0.1:8866/?run=demo&clip=")]
        text += page.text
    assert pictures and all(picture.is_file() for picture in pictures)
    for word in WORDS:
        assert text.count(word) > 10, word


def test_notebooks_show_text_by_the_show_functions_alone():
    for path in sorted((PROJECT / "notebooks").glob("*.ipynb")):
        code = "\n".join(cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code")
        assert not [word for word in ("HTML(", "Markdown(", "Latex(", ".style", "_repr_html_") if word in code], path.name


def hostile_tables() -> dict[str, pd.DataFrame]:
    table = pd.DataFrame({"annotator": [*WORDS, *FORMULAS], "ac1": 0.25, ALL: 1})
    table.attrs |= {"title": ALL, "reading": ALL, "footnote": ALL}
    return {"agreement": table}


def test_markdown_of_the_agreement_holds_no_html_no_link_and_one_line_per_row(tmp_path):
    save_tables(hostile_tables(), tmp_path)
    text = (tmp_path / "agreement.md").read_text()
    assert "<" not in text and "](" not in text.replace("\\](", "") and "![" not in text.replace("!\\[", "")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(WORDS) + len(FORMULAS)
    bars = {line.replace("\\\\", "").replace("\\|", "").count("|") for line in rows}
    assert bars == {4}  # three columns in every row


@pytest.mark.parametrize("word", [IMAGE, SCRIPT, LINK, MARKDOWN])
def test_markdown_rendered_shows_the_words(tmp_path, word):
    mistune = pytest.importorskip("mistune")
    table = pd.DataFrame({"annotator": [word], "x": 1}).copy()
    table.attrs |= {"title": word, "reading": word, "footnote": "f"}
    save_tables({"agreement": table}, tmp_path)
    page = Tags(mistune.create_markdown(escape=False, plugins=["table"])((tmp_path / "agreement.md").read_text()))
    assert not {tag for tag, _ in page.tags} & {"img", "script", "a", "style"}
    assert page.text.count(" ".join(word.split())) == 3


def test_markdown_of_a_paper_table_holds_no_html_and_no_link():
    table = PaperTable("t", ALL, pd.DataFrame({"model": WORDS, ALL: 0.5}), ["model"], notes=[ALL])
    text = table.to_markdown()
    assert "<" not in text and "](" not in text.replace("\\](", "")
    assert len([line for line in text.splitlines() if line.startswith("|")]) == 2 + len(WORDS)


def test_a_spreadsheet_runs_no_cell_and_numbers_stay_numbers(tmp_path):
    save_tables(hostile_tables(), tmp_path)
    paper = PaperTable("t", "t", pd.DataFrame({"model": FORMULAS, "value": -1.5}), ["model"])
    cells = pd.read_csv(tmp_path / "agreement.csv", dtype=str)
    for column in (cells["annotator"], pd.read_csv(paper.save(tmp_path)[0], dtype=str)["model"]):
        assert not column.str.match(r"[=+\-@\t\r]").any()
    assert (cells["ac1"] == "0.25").all() and paper.to_csv().splitlines()[1].endswith(",-1.5")


def test_what_was_written_is_read_back(tmp_path):
    frame = pd.DataFrame({"=a": [*FORMULAS, *PLAIN], "n": range(len(FORMULAS) + len(PLAIN)), "x": -0.5})
    (tmp_path / "t.csv").write_text(csv_text(frame))
    back = read_csv(tmp_path / "t.csv", dtype={"=a": str}, keep_default_na=False)
    pd.testing.assert_frame_equal(back, frame, check_dtype=False)
    assert read_csv(tmp_path / "t.csv")["x"].eq(-0.5).all()


def test_a_table_without_columns_is_read_back_but_an_empty_file_is_none(tmp_path):
    (tmp_path / "t.csv").write_text(csv_text(pd.DataFrame()))
    assert read_csv(tmp_path / "t.csv").shape == (0, 0)
    with pytest.raises(ContractError, match="it is empty"):
        read_csv_texts(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("")
    with pytest.raises(ContractError, match="it is empty"):
        read_csv(tmp_path / "t.csv")


def test_a_table_without_such_text_is_written_as_before():
    frame = pd.DataFrame(
        {"a": ["x", None, "-1"], "b": [1, 2.5, None], "c": pd.array([1, None, 3], dtype="Int64"), "d": [True, 2, "z"]}
    )
    assert csv_text(frame) == frame.to_csv(index=False, lineterminator="\n")
    assert csv_text(frame.head(0)) == "a,b,c,d\n"


def test_votes_are_read_as_they_were_exported(tmp_path):
    vote = {"task": "pairwise", "benchmark": "wrbench", "dimension": "d", "clip_a": "=c", "model_a": "@m", "label": "-1"}
    votes = pd.DataFrame([{**vote, "annotator": word} for word in ("=cmd|' /C calc'!A0", "-ann", "+1 bob")])
    (tmp_path / "ratings.csv").write_text(csv_text(votes))
    assert "\n=" not in (tmp_path / "ratings.csv").read_text() and ",=" not in (tmp_path / "ratings.csv").read_text()
    back = read_ratings(tmp_path / "ratings.csv")
    assert list(back["annotator"]) == list(votes["annotator"]) and set(back["label"]) == {"-1"} and set(back["clip_a"]) == {"=c"}


MODELS = ["模型 A", "模型 B", "型模 A", "a.b", "a-b", "a b", "A-B", "a_b", "a", "a-", "", "ä", "é", IMAGE]


def test_every_name_has_an_anchor_of_its_own_that_stays_the_same():
    anchors = [anchor(benchmark, model) for benchmark in ("mbench", "wrbench") for model in MODELS]
    assert len(set(anchors)) == len(anchors)
    assert all(text.isascii() and text.replace("-", "").isalnum() for text in anchors)
    assert anchor("mbench", "a.b") == "behind-mbench-a-b-de0650fdfe"


def test_the_links_of_a_table_lead_to_their_models(tmp_path):

    summary = pd.DataFrame(
        {"model_id": MODELS, "benchmark": "mbench", "metric": "mind.lcm_mse", "phase": "", "mean": 1.0, "reasons": "{}"}
    )
    summary = summary.assign(n=1, n_items=1, ci_low=math.nan, ci_high=math.nan, variant="paper")
    table = model_table("t", "t", summary, [Column("M", "mind.lcm_mse")])
    clips = [Clip(benchmark="mbench", setting="T", model_id=model, clip_id="c", video="v.mp4") for model in MODELS]
    told = {"metric": "mind.lcm_mse", "variant": "paper", "phase": "", "value": 1.0, "reason": "", "detail": "", "backend": "none"}
    items = pd.DataFrame([dict(zip(KEYS, clip.key, strict=True)) | told for clip in clips])
    empty = (empty_table(name) for name in ("units", "judgements", "failures"))
    pages = Behind(clips, items, *empty, run="demo", moments=0).pages({})
    assert len({page.id for page in pages}) == len(MODELS)
    places = [attributes.get("id") for page in pages for tag, attributes in Tags(page.body).tags if tag == "figure"]
    assert len(places) == len(set(places)) == len(MODELS)
    assert list(table.links["M"]) == [f"#{name}" for name in places]


def test_a_name_in_a_drawing_is_text_in_its_svg(tmp_path):
    figure = plt.figure()
    figure.suptitle(f"{IMAGE} {SCRIPT}")
    figure.add_subplot().set_xlabel(LINK)
    save_figure(figure, tmp_path, "f", "c")
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.parse(tmp_path / "f.svg").iter()}
    assert "text" in tags and not tags & {"script", "img", "image", "a"}


def test_a_drawing_keeps_its_own_bold_and_its_templates(tmp_path):
    drawn = go.Figure().update_layout(height=100)
    drawn.add_bar(x=[1], y=["a"], text=["<b>0.52</b>"], hovertemplate="%{y}<br>%{x}<extra></extra>")
    made = fragment(save_figure(plt.figure(), tmp_path, "f", "c"), drawn)
    (trace,) = json.loads(made.split('json">')[1].split("</script>")[0])["data"]
    assert trace["text"] == ["<b>0.52</b>"] and trace["hovertemplate"] == "%{y}<br>%{x}<extra></extra>"
