"""The report in headless Chromium: it opens offline without a complaint, its links lead somewhere, every section can be seen."""

import shutil
from pathlib import Path

import pytest
from lookback.paths import project_root

SCREENSHOTS = project_root() / "outputs" / "browser"


@pytest.fixture(scope="module")
def page(finished: Path):
    if shutil.which("chromium") is None:
        pytest.skip("Chromium is not installed (Debian package chromium): the page cannot be opened")
    from playwright.sync_api import sync_playwright

    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"]) as browser,
    ):
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.said, opened.asked = [], []
        opened.on("console", lambda message: opened.said.append(message.text))
        opened.on("pageerror", lambda error: opened.said.append(str(error)))
        opened.on("request", lambda request: opened.asked.append(request.url))
        opened.goto((finished / "report.html").as_uri())
        yield opened


def test_it_opens_offline_and_silently(page):
    assert page.said == []
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []


def test_every_link_leads_to_a_place_in_the_page(page):
    targets = page.eval_on_selector_all("a[href^='#']", "links => links.map(link => link.getAttribute('href').slice(1))")
    assert targets
    missing = [target for target in set(targets) if page.query_selector(f"[id='{target}']") is None]
    assert missing == []


def test_pictures_say_what_they_show(page):
    assert page.eval_on_selector_all("img", "all => all.filter(image => !image.alt).length") == 0
    assert page.eval_on_selector_all("figure img", "all => all.filter(image => image.complete && !image.naturalWidth).length") == 0


def test_a_number_leads_to_the_frames_behind_it(page):
    cell = page.query_selector("#memobench-2 td a")
    target = cell.get_attribute("href").removeprefix("#")
    cell.click()
    fold = page.query_selector(f"[id='{target}']")
    assert fold.evaluate("part => part.open")
    assert fold.query_selector(".clip img").bounding_box()["height"] > 20
    assert "memobench.psnr" in fold.inner_text()


def test_figures_draw_themselves_when_they_come_into_sight_and_stay_pictures_in_print(page):
    figures = page.query_selector_all("figure.drawn")
    assert len(figures) >= 5
    for figure in figures:
        figure.scroll_into_view_if_needed()
        figure.wait_for_selector(".plot .main-svg", state="attached")
        assert figure.query_selector(".plot").bounding_box()["height"] > 300 and not figure.query_selector("img").is_visible()
    page.emulate_media(media="print")
    assert all(figure.query_selector("img").is_visible() and not figure.query_selector(".plot").is_visible() for figure in figures)
    page.emulate_media(media="screen")
    assert page.said == [] and [url for url in page.asked if not url.startswith(("file:", "data:", "blob:"))] == []


def test_no_table_is_cut_in_print(page):
    """A4 landscape with margins of 12 mm is 1032 CSS pixels wide."""
    page.set_viewport_size({"width": 1032, "height": 703})
    page.emulate_media(media="print")
    widths = page.eval_on_selector_all(
        "figure.table", "all => all.map(figure => [figure.id, figure.querySelector('table').getBoundingClientRect().width])"
    )
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1280, "height": 900})
    assert widths
    assert [(name, width) for name, width in widths if width > 1033] == []


def test_findings_lead_to_their_evidence(page):
    places = page.eval_on_selector_all("#summary ol a", "links => links.map(link => link.getAttribute('href'))")
    assert places
    assert all(page.query_selector(f"[id='{place[1:]}']") is not None for place in places)


def test_every_section_is_shown(page):
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    sections = page.query_selector_all("section[id]")
    assert len(sections) >= 10
    for section in sections:
        assert section.bounding_box()["height"] > 50
        section.screenshot(path=SCREENSHOTS / f"report_{section.get_attribute('id')}.png")
