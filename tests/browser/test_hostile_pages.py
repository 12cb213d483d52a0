"""Text from outside runs nothing in a real browser: the report, what notebooks show, the inspector and the desk."""

import shutil
import sys
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import pytest
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "report"))
from browser_pages import printed_links, server
from hostile_text import ALL, IMAGE, LINK, SCRIPT, WORDS, write_hostile_pages

pytestmark = pytest.mark.long
HOSTILE_RUN = "hostile"
TEXTS = ("verbatim", "question", "answer", "evidence", "prompt", "object_name", "scene", "detail", "judge", "text")


def assert_nothing_ran(page) -> None:
    assert page.evaluate("window.ran") is None
    outside = "a[href*='evil.example']:not([href^='http://127.0.0.1:'])"  # the inspector's address holds the clip's name
    assert page.locator(f"img[src^='nowhere'], a.bait, {outside}").count() == 0
    assert page.errors == [] and page.asked == []


def test_the_report_and_what_notebooks_show(open_page, tmp_path, monkeypatch, screenshot):
    shown, report = write_hostile_pages(tmp_path, monkeypatch)
    page = open_page(f"file://{shown}", "footer")
    page.eval_on_selector_all("details", "parts => parts.forEach(part => { part.open = true; })")
    assert page.locator("td, th", has_text=IMAGE).count() > 3
    assert_nothing_ran(page)
    page.close()
    page = open_page(f"file://{report}", "footer")
    page.locator("figure.drawn").scroll_into_view_if_needed()
    page.wait_for_selector("figure.drawn.ready .plot .ytick text")
    labels = page.eval_on_selector_all("figure.drawn .ytick text", "nodes => nodes.map(node => node.textContent)")
    assert [text for text in labels if text in (IMAGE, SCRIPT, LINK)]  # shown as they are, neither run nor hidden
    bars = page.locator("figure.drawn .plot .bars .point path")
    bars.first.hover(force=True)
    page.wait_for_selector("figure.drawn .hoverlayer text")
    page.eval_on_selector_all("details", "parts => parts.forEach(part => { part.open = true; })")
    screenshot(page, "hostile_report")
    assert page.locator("td, th", has_text=IMAGE).count() > 0
    assert_nothing_ran(page)
    page.close()


@pytest.fixture(scope="module")
def hostile_run(little):
    """The little run again, its model names, judge's words and prompts replaced."""
    folder = little.root / "outputs" / HOSTILE_RUN
    (little.root / "params" / f"{HOSTILE_RUN}.yaml").write_text("description: a run of hostile names\ncuration: {}\n")
    shutil.copytree(little.folder / "tables", folder / "tables")
    (folder / "artifacts").symlink_to(little.folder / "artifacts")
    for path in (folder / "tables").glob("*.parquet"):
        frame = pd.read_parquet(path)
        for name in set(frame.columns) & {"model_id", "model_a", "model_b"}:
            frame[name] = frame[name].replace({"birkdale": IMAGE, "aldermoor": SCRIPT})
        for name in set(frame.columns) & set(TEXTS):
            frame[name] = ALL
        frame.to_parquet(path)
    return folder


def test_the_inspector(open_page, inspector, hostile_run, screenshot):
    clip = f"memobench/synthetic/{IMAGE}/Playroom_001"
    page = open_page(f"{inspector}&run={HOSTILE_RUN}&clip={quote(clip, safe='')}", "canvas.lookback-frame[data-frame='0']")
    for part in ("answers", "scores", "segments"):
        page.click(f"[data-part='{part}'] summary")
    assert IMAGE in page.locator("[data-part='answers']").inner_text()
    assert IMAGE in page.locator("h3").inner_text().replace("\u200b", "")
    page.select_option("[data-compare]", label=SCRIPT)
    page.wait_for_selector("canvas[data-slot='2']")
    assert SCRIPT in page.locator("figcaption").all_inner_texts()[2]
    screenshot(page, "hostile_inspector")
    assert_nothing_ran(page)
    page.close()


def test_the_inspector_says_what_is_wrong_in_plain_text(open_page, inspector, hostile_run):
    page = open_page(f"{inspector}&run={HOSTILE_RUN}&clip={quote(IMAGE, safe='')}", ".lookback-inspector .message")
    assert IMAGE in page.locator(".message").inner_text()
    assert_nothing_ran(page)
    page.close()


def test_the_desk_and_its_organiser(open_page, little, lookback, hostile_run, screenshot):
    study = little.root / "hostile.yaml"
    study.write_text(yaml.safe_dump({"form": "mbench_pairwise", "practice": False, "watch": False, "instructions": [IMAGE]}))
    command = [*lookback, "annotate", f"--run={HOSTILE_RUN}", f"--study={study}", f"--annotator={IMAGE}"]
    with server(command, little.root, printed_links) as links:
        page = open_page(links[IMAGE], ".instructions")
        assert IMAGE in page.locator(".instructions").inner_text()
        page.keyboard.press("Enter")
        page.wait_for_selector(".question")
        assert f"done by {IMAGE}" in page.locator(".count").inner_text()
        assert WORDS[0] in page.locator(".context").inner_text()
        page.fill(".comment", ALL)
        page.click(".skip")
        page.wait_for_selector(".finished")
        screenshot(page, "hostile_desk")
        assert_nothing_ran(page)
        page.close()
        organiser = open_page(links["organiser"], ".people td")
        assert IMAGE in organiser.locator(".people").inner_text()
        assert_nothing_ran(organiser)
        organiser.close()
