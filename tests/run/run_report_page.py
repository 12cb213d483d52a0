"""The report in headless Chromium: a reader's tasks in at most two clicks each; offline, small, dark and in print."""

import re
import shutil
from pathlib import Path

import pytest
from lookback.paths import project_root

SCREENSHOTS = project_root() / "outputs" / "browser"


@pytest.fixture(scope="module")
def browser():
    if shutil.which("chromium") is None:
        pytest.skip("Chromium is not installed (Debian package chromium): the page cannot be opened")
    from playwright.sync_api import sync_playwright

    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"]) as started,
    ):
        yield started


@pytest.fixture(scope="module")
def opened(browser):
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, permissions=["clipboard-read", "clipboard-write"], offline=True
    )
    page = context.new_page()
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    return page


@pytest.fixture
def page(opened, finished: Path):
    """The entry page, opened anew; at the end nothing was complained about, and nothing asked for from outside."""
    opened.said.clear()
    opened.asked.clear()
    opened.goto((finished / "report.html").as_uri())
    yield opened
    assert opened.said == []
    assert [url for url in opened.asked if not url.startswith(("file:", "data:", "blob:"))] == []


def pages(finished: Path) -> list[Path]:
    return [finished / "report.html", *sorted((finished / "report").glob("*.html"))]


def test_the_best_model_and_by_how_much_stand_on_the_first_page(page):
    leads = page.eval_on_selector_all(".lead", "all => all.map(one => one.textContent)")
    assert any(re.search(r"wins \d+ % of its duels, \d+ points before|nothing to rank", lead) for lead in leads)
    assert all(text in page.inner_text("main") for text in ("What the data support", "Ceiling", "Which model is best"))
    assert page.eval_on_selector_all(".finding .pair img", "all => all.length") >= 2


def test_the_worst_failure_and_its_frames_are_one_click_away(page):
    page.click("nav >> text=Failures")
    worst = page.wait_for_selector(".failure")
    assert worst.query_selector("h3").inner_text().startswith("1.") and worst.query_selector("img").bounding_box()["height"] > 20
    loaded = "video => new Promise((done, fail) => { video.onloadeddata = () => done(video.duration); video.onerror = fail; %s })"
    seconds = worst.query_selector("video").evaluate(loaded % "video.load()")
    assert 0.2 < seconds < 20 and worst.query_selector("a[download]").get_attribute("href").endswith(".mp4")
    label = page.eval_on_selector("select[name=label]", "list => list.options[1].value")
    page.select_option("select[name=label]", label)
    shown = page.eval_on_selector_all(
        ".failure, tr[data-label]", "all => all.filter(one => !one.hidden).map(one => one.dataset.label)"
    )
    assert set(shown) == {label}


def test_why_a_score_is_missing_is_one_click_from_the_dash(page, finished: Path):
    page.goto((finished / "report" / "memobench.html").as_uri())
    page.click("#memobench-2 td[title] a")
    row = page.wait_for_selector("tr:target")
    assert "missing.html" in page.url
    assert "backend unavailable" in row.inner_text() and row.query_selector("code").inner_text() != ""


def pasted(page) -> str:
    """What the keys of pasting put into a field."""
    page.evaluate("document.body.append(Object.assign(document.createElement('textarea'), {id: 'pasted'}))")
    page.focus("#pasted")
    page.keyboard.press("Control+V")
    page.wait_for_function("document.querySelector('#pasted').value")
    text = page.input_value("#pasted")
    page.evaluate("document.querySelector('#pasted').remove()")
    return text


def test_a_latex_table_is_copied_with_two_clicks(page, finished: Path):
    page.click("nav summary >> text=Benchmarks")
    page.click("nav >> text=MemoBench")
    for name, ending in (("LaTeX", "tex"), ("CSV", "csv")):
        page.click(f"#memobench-2 >> text=Copy {name}")
        page.wait_for_selector("#memobench-2 button[data-copied] >> text=Copied")
        assert pasted(page) == (finished / "tables" / "report" / f"memobench-2.{ending}").read_text()
        page.wait_for_selector("#memobench-2 button >> text=Copied", state="detached")


def test_a_number_leads_to_its_worst_frame_and_from_there_to_the_inspector(page, finished: Path):
    page.goto((finished / "report" / "memobench.html").as_uri())
    page.click("#memobench-2 tbody td a:not(td[title] a)")
    place = page.wait_for_selector("figure:target")
    place.query_selector("img").scroll_into_view_if_needed()
    assert place.query_selector("img").bounding_box()["height"] > 20
    link = place.query_selector("a.inspect")
    assert re.search(r"\?run=small&clip=memobench/\S+&frame=\d+$", link.get_attribute("href"))


def test_where_the_inspector_does_not_run_the_page_says_how_to_start_it(opened, finished: Path):
    opened.goto((finished / "report" / "failures.html").as_uri())
    opened.click(".failure a.inspect")
    opened.wait_for_selector("#closed[open]")
    assert opened.inner_text("#closed code") == "make inspect RUN=small"


def test_search_finds_a_model_and_a_metric_on_other_pages(page):
    page.fill("#search", "psnr")
    page.wait_for_selector("#found a")
    assert "psnr" in page.inner_text("#found a >> nth=0").lower()
    page.fill("#search", "sim-faithful")
    page.wait_for_function("document.querySelector('#found a')?.textContent.includes('sim-faithful')")
    page.click("#found a >> nth=0")
    assert "sim-faithful" in page.inner_text("main")


def test_numbers_of_tables_without_models_as_rows_are_links_too(finished: Path):
    text = (finished / "report" / "wrbench.html").read_text()
    for name in ("wrbench-6", "wrbench-17"):
        table = re.search(rf'<figure class="table[^"]*" id="{name}">.*?</figure>', text, re.DOTALL)
        assert table is not None, name
        cells = [cell for cell in re.findall(r"<td.*?</td>", table[0], re.DOTALL) if "–" not in cell]
        assert cells and any("<a " in cell for cell in cells), name


def test_every_link_leads_to_a_page_and_a_place(finished: Path):
    texts = {path.resolve(): path.read_text() for path in pages(finished)}
    ids = {path: set(re.findall(r'\sid="([^"]+)"', text)) for path, text in texts.items()}
    for path, text in texts.items():
        for target, place in re.findall(r'href="([^"#:]*)(?:#([^"]+))?"', text):
            other = (path.parent / target).resolve() if target else path
            assert other.is_file(), (path.name, target)
            assert not place or place in ids[other], (path.name, target, place)


def test_no_page_is_wider_than_its_screen_and_pictures_say_what_they_show(browser, finished: Path):
    for width, scheme in ((390, "dark"), (1400, "light")):
        page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
        for path in pages(finished):
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path.name, width)
            assert page.eval_on_selector_all("img", "all => all.filter(image => !image.alt).length") == 0, path.name
            cut_off = "all => all.filter(box => box.scrollWidth > box.clientWidth).length"
            assert page.eval_on_selector_all(".boards .scroll", cut_off) == 0, f"leaderboard cut off at {width} px"
        ink, paper = page.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
        light = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
        assert (light[0] > light[1]) == (scheme == "dark")


def test_no_table_of_the_first_page_is_cut_off_on_a_laptop(browser, finished: Path):
    page = browser.new_context(viewport={"width": 1300, "height": 900}).new_page()
    page.goto((finished / "report.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
    # this run has too few scenes for intervals; with them the tables are wider
    with_intervals = "cells => cells.forEach(cell => cell.insertAdjacentHTML('beforeend', '<small>[34.08, 99.00]</small>'))"
    page.eval_on_selector_all(".many tr:last-child td", with_intervals)
    cut_off = "all => all.filter(box => box.scrollWidth > box.clientWidth).map(box => box.parentElement.id)"
    assert page.eval_on_selector_all(".scroll", cut_off) == []


def test_figures_draw_themselves_when_they_come_into_sight_and_stay_pictures_in_print(page, finished: Path):
    page.goto((finished / "report" / "memobench.html").as_uri())
    figures = page.query_selector_all("figure.drawn")
    assert figures
    for figure in figures:
        figure.scroll_into_view_if_needed()
        figure.wait_for_selector(".plot .main-svg", state="attached")
        assert figure.query_selector(".plot").bounding_box()["height"] > 300 and not figure.query_selector("img").is_visible()
    page.emulate_media(media="print")
    assert all(figure.query_selector("img").is_visible() and not figure.query_selector(".plot").is_visible() for figure in figures)
    page.emulate_media(media="screen")


def test_no_table_is_cut_in_print(browser, finished: Path):
    """A4 landscape with margins of 12 mm is 1032 CSS pixels wide."""
    page = browser.new_context(viewport={"width": 1032, "height": 703}).new_page()
    page.emulate_media(media="print")
    for path in pages(finished):
        page.goto(path.as_uri())
        page.eval_on_selector_all("details", "all => all.forEach(fold => { fold.open = true })")
        widths = page.eval_on_selector_all(
            "figure.table", "all => all.map(figure => [figure.id, figure.querySelector('table').getBoundingClientRect().width])"
        )
        assert [(path.name, name, width) for name, width in widths if width > 1033] == []


def test_the_first_page_is_small_and_paints_soon(browser, finished: Path):
    assert (finished / "report.html").stat().st_size < 600_000
    page = browser.new_page()
    page.goto((finished / "report.html").as_uri())
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert painted < 2000


def test_every_page_is_shown(browser, finished: Path):
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    named = [path for path in pages(finished) if not path.name.startswith("model-")]
    assert len(named) >= 9 and len(named) < len(pages(finished))
    for path in named:
        page.goto(path.as_uri())
        assert page.query_selector("main").bounding_box()["height"] > 150
        page.screenshot(path=SCREENSHOTS / f"report_{path.stem}.png", full_page=True)
