"""The report as a site: links between pages, pictures as files, search, failures with videos, what is missing, tables that fit."""

from __future__ import annotations

import html
import json
import re
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lookback.clips import KEYS, Clip
from lookback.files import write_text
from lookback.media import encode, open_video
from lookback.params.load import validate
from lookback.registry import BENCHMARKS
from lookback.report.build import ReportBuilder
from lookback.report.ceiling import ceiling_of, real_clip
from lookback.report.failures import EVIDENCE, excerpt_frames, failures_html, pictured, ranked
from lookback.report.fitting import fitted
from lookback.report.missing import JUDGE, missing_html, missing_rows, remedy
from lookback.report.page import Section, copy_site, write_page
from lookback.report.stage_tables import read_named
from lookback.report.table import PaperTable
from lookback.strips import jpeg_html
from lookback.tables import csv_text, empty_table, write_table
from made_runs import made_run

PICTURE = jpeg_html(np.zeros((8, 8, 3), np.uint8), "a black square", 80)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    first = Section(
        "first", "First", "", ['<p id="here">near</p><a href="#far">to</a><a href="#here">own</a><a href="#second">p</a>']
    )
    second = Section("second", "Second", "", [f'<p id="far">Far away</p><a href="#here">back</a>{PICTURE}'], "Group")
    write_page(tmp_path / "report.html", "T", "words", [first, second], "end")
    return tmp_path / "report.html"


def test_links_find_the_page_of_their_place(site: Path):
    first, second = site.read_text(), (site.parent / "report" / "second.html").read_text()
    assert 'href="report/second.html#far"' in first and '<a href="#here">own' in first and '<a href="report/second.html">p' in first
    assert '<a href="../report.html#here">back' in second and 'href="site.css"' in second and 'href="report/site.css"' in first


def test_a_picture_is_a_file_beside_the_page(site: Path):
    source = re.search(r'<img src="([^"]+)"', (site.parent / "report" / "second.html").read_text())[1]
    assert source.startswith("pictures/") and (site.parent / "report" / source).read_bytes()[:2] == b"\xff\xd8"


def test_the_search_index_names_pages_and_places(site: Path):
    text = (site.parent / "report" / "search.js").read_text()
    places = json.loads(text.removeprefix("window.lookbackPlaces = ").rstrip(";\n"))
    assert ["second", "far", "Far away"] in [[page, place, words[:8]] for page, place, words in places]
    assert ["", "", "First. "] in places


def test_a_copied_site_opens_under_its_new_name(site: Path, tmp_path: Path):
    copy_site(site, tmp_path / "sent" / "mine.html")
    entry, other = tmp_path / "sent" / "mine.html", tmp_path / "sent" / "mine" / "second.html"
    assert 'href="mine/second.html#far"' in entry.read_text() and 'href="../mine.html#here"' in other.read_text()
    assert (tmp_path / "sent" / "mine" / "site.js").is_file()


def test_a_wide_table_is_fitted_and_nothing_is_lost():
    frame = pd.DataFrame({"name": ["x", "y"], "role": ["main", "main"], "rho": [0.5, 0.25], "rho_low": [0.1, np.nan]})
    frame = frame.assign(rho_high=[0.9, np.nan], why=["", "w" * 50], **{f"c{k}": [k, k + 1] for k in range(9)})
    table = PaperTable("t", "T", frame, ["name", "role", "why"])
    shown = fitted(table)
    assert list(shown.frame) == ["name", "rho", *(f"c{k}" for k in range(6))]
    assert shown.suffixes["rho"].tolist() == [" [0.10, 0.90]", ""]
    notes = " ".join(shown.notes)
    assert "In every row: role main." in notes and f"why: {'w' * 50} (1 row)" in notes and "Also in the files: c6, c7, c8." in notes
    assert len(table.frame.columns) == 15, "the table that is saved is whole"


def test_a_table_of_mere_text_keeps_its_rows_together():
    frame = pd.DataFrame({"file": ["a.mp4", "b.mp4"], "problem": ["p" * 50, "q" * 50], "layout": ["folder", "folder"]})
    shown = fitted(PaperTable("t", "T", frame, list(frame)))
    assert shown.frame["problem"].tolist() == frame["problem"].tolist() and shown.notes == ["In every row: layout folder."]


def failure(clip: Clip, label: str, sure: float, start: int = 4, end: int = 9) -> dict[str, object]:
    told = {"label": label, "confidence": sure, "frame_start": start, "frame_end": end, "rule": "r", "evidence": "it is gone"}
    return dict(zip(KEYS, clip.key, strict=True)) | told


@pytest.fixture
def clip(tmp_path: Path) -> Clip:
    frames = np.full((16, 48, 64, 3), 120, np.uint8)
    video = str(encode(tmp_path / "clip.mp4", frames, 8.0))
    facts = {"n_frames": 16, "fps": 8.0, "width": 64, "height": 48}
    return Clip(benchmark="memobench", setting="real", model_id="m", clip_id="c", scene="s", video=video, **facts)


def test_failures_play_with_their_evidence_marked(clip: Clip, tmp_path: Path):
    folder = tmp_path / "excerpts"
    page = "".join(failures_html(pd.DataFrame([failure(clip, "teleport", 0.9)]), {clip.key: clip}, "demo", folder))
    (video,) = folder.glob("*.mp4")
    assert f'src="site:excerpts/{video.name}"' in page and f'href="site:excerpts/{video.name}" download' in page
    with open_video(video) as reader:
        shown = reader.read(np.arange(reader.info.n_frames))
        assert reader.info.codec == "h264"
    red = [abs(int(picture[24, 0, 0]) - EVIDENCE[0]) < 60 and picture[24, 0, 2] < 100 for picture in shown]
    assert red == [4 <= frame <= 9 for frame in excerpt_frames(4, 9, 16, 8.0)]
    assert "clip=memobench/real/m/c&amp;frame=4" in page and "make inspect RUN=demo" in page


def test_a_failure_whose_clip_cannot_be_read_says_so(clip: Clip, tmp_path: Path):
    gone = clip.model_copy(update={"video": str(tmp_path / "gone.mp4")})
    page = "".join(failures_html(pd.DataFrame([failure(gone, "teleport", 0.9)]), {gone.key: gone}, "demo", tmp_path / "e"))
    assert "gone.mp4" in page and "<video" not in page


def test_long_evidence_keeps_its_first_and_last_frame():
    chosen = excerpt_frames(100, 900, 1000, 24.0)
    assert {100, 900} <= set(chosen) and len(chosen) <= 60 and chosen[0] == 76 and chosen[-1] <= 912


def test_every_kind_of_failure_gets_a_video_before_one_kind_gets_many(clip: Clip):
    rows = [failure(clip, "teleport", 0.9 - k / 100) for k in range(30)] + [failure(clip, "duplicate", 0.1)]
    chosen = pictured(ranked(pd.DataFrame(rows)), most=6)
    assert chosen["label"].value_counts().to_dict() == {"teleport": 5, "duplicate": 1} and chosen["place"].is_monotonic_increasing


AGAIN = "lookback report --run r"
WEIGHTS = "no weights (Run: python -m lookback.weights clip-x (downloads it), or put a file)"
MODEL = (
    "No backend of the role 'image_reward' is usable here: image-reward: it is not installed (lookback models install image-reward)"
)
PACKAGE = "not installed (pip install image-reward==1.5 (in an environment of its own))"


@pytest.mark.parametrize(
    ("reason", "detail", "command"),
    [
        ("backend_unavailable", WEIGHTS, f"python -m lookback.weights clip-x && {AGAIN}"),
        ("backend_unavailable", PACKAGE, f"pip install image-reward==1.5 && {AGAIN}"),
        ("backend_unavailable", "SAM 3 is needed", f"lookback doctor && {AGAIN}"),
        ("backend_unavailable", MODEL, f"lookback models install image-reward && {AGAIN}"),
        ("backend_unavailable", "no judge is chosen; set judging.judge", JUDGE.format(run="r")),
        ("untrusted_path", "the truth's field of view is 120 deg and the video's 60 deg, one of them assumed", AGAIN),
        ("needs_judge", "", f"{AGAIN} --set judging.judge=openai --set judging.base_url=URL --set judging.model=MODEL"),
        ("no_depth", "the dataset carries no depth", AGAIN),
        ("no_return", "it never came back", ""),
    ],
)
def test_the_command_that_mends_a_missing_score(reason: str, detail: str, command: str):
    assert remedy(reason, detail, "r")[1] == command


def test_what_is_missing_names_models_reason_and_command():
    row = {
        "benchmark": "mbench",
        "setting": "T",
        "clip_id": "c",
        "metric": "m",
        "reason": "needs_judge",
        "detail": "ask",
        "value": None,
    }
    items = pd.DataFrame([{**row, "model_id": name} for name in "abcd"] + [{**row, "model_id": "e", "value": 1.0, "reason": ""}])
    (found,) = missing_rows(items, "r").to_dict("records")
    assert found["models"] == list("abcd") and found["clips"] == 4
    page = "".join(missing_html(items, "r", {"mbench": "MBench"}))
    assert "4 of 5 models" in page and "<b>needs judge</b>" in page and "judging.judge=openai" in page
    assert missing_html(items[items["value"].notna()], "r", {}) == []


def test_only_what_is_certain_is_promised():
    row = {"benchmark": "memobench", "setting": "", "clip_id": "c", "model_id": "m", "value": None, "reason": "backend_unavailable"}
    items = pd.DataFrame([{**row, "metric": "a", "detail": MODEL}, {**row, "metric": "b", "detail": "SAM 3 is needed"}])
    page = html.unescape("".join(missing_html(items, "r", {})))
    assert f"<code>lookback models install image-reward && {AGAIN}</code> gives 1 metric (1 score)" in page
    assert f"<code>lookback doctor && {AGAIN}</code> may give 1 metric (1 score)" in page


def test_a_benchmark_without_real_videos_says_so_with_its_reason():
    clips = pd.DataFrame([{"benchmark": "wrbench", "setting": "s", "clip_id": "c", "ground_truth": None}])
    found = ceiling_of(validate({"run": "x"}, "test"), BENCHMARKS.get("wrbench"), clips)
    assert not found.scored and found.why == "WRBench: missing_input (its tasks come without real videos)."
    with_truth, none = clips.assign(ground_truth="real.mp4"), validate({"run": "x", "report": {"ceiling": 0}}, "test")
    assert "report.ceiling is 0" in ceiling_of(none, BENCHMARKS.get("wrbench"), with_truth).why


def test_the_real_video_is_scored_from_where_the_prediction_begins(clip: Clip, tmp_path: Path):
    ramp = np.repeat(np.arange(16, dtype=np.uint8) * 10, 48 * 64 * 3).reshape(16, 48, 64, 3)
    truth = encode(tmp_path / "truth.mkv", ramp, 8.0, codec="ffv1", pix_fmt="bgr0", crf=None)
    params = validate({"run": "x", "output": str(tmp_path / "run")}, "test")
    cut = real_clip(clip.model_copy(update={"ground_truth": str(truth), "mark_time": 6}), params)
    assert cut.model_id == "real video" and cut.poses is None
    with open_video(Path(cut.video)) as reader:
        assert reader.read(np.arange(reader.info.n_frames))[:, 0, 0, 0].tolist() == [10 * k for k in range(6, 16)]
    whole = real_clip(clip.model_copy(update={"ground_truth": str(truth)}), params)
    assert whole.video == str(truth)


def test_no_heading_is_wider_than_the_window():
    """A model's name may be one long word."""
    rules = (resources.files("lookback.report") / "templates" / "site.css").read_text()
    assert all("overflow-wrap: anywhere" in re.search(rf"^{name} {{.*$", rules, re.M)[0] for name in ("h1", "h2", "h3"))


def test_a_run_without_a_score_says_so_first(tmp_path: Path):
    params = made_run(tmp_path / "none", {(model, "s0"): "backend_unavailable" for model in "ab"})
    write_table(params.paths.tables, "failures", empty_table("failures"))
    builder = ReportBuilder(params)
    builder.papers()
    text = "".join(builder.verdict(builder.leaderboards()).fragments)
    assert "no score, so there is nothing to rank; the commonest reason: backend unavailable (2 of 2)." in text
    assert '<a href="#missing">What is missing</a>' in text


def test_models_keep_their_names_on_the_failures_page(tmp_path: Path):
    params = made_run(tmp_path / "named", {(model, "s0"): 0.5 for model in ("007", "NA")})
    write_table(params.paths.tables, "failures", empty_table("failures"))
    counts = pd.DataFrame({"benchmark": "wrbench", "setting": "s", "model_id": ["007", "NA"], "clips": [1, 1], "teleport": [1, 0]})
    write_text(params.paths.tables / "forensics" / "counts.csv", csv_text(counts))
    text = "".join(ReportBuilder(params).failures().fragments)
    assert ">007<" in text and ">NA<" in text and "7.0" not in text


def test_names_in_tables_of_the_agreement_stay_as_they_are(tmp_path: Path):
    table = pd.DataFrame({"setting": ["1", ""], "model": ["007", "NA"], "annotator": ["01", "02"], "n": [3.0, np.nan]})
    write_text(tmp_path / "t.csv", csv_text(table))
    read = read_named(tmp_path / "t.csv")
    assert read[["model", "annotator"]].to_numpy().tolist() == [["007", "01"], ["NA", "02"]] and read["setting"].iloc[0] == "1"
    assert read["setting"].isna().tolist() == [False, True] and read["n"].sum() == 3
