"""The annotation desk in a real browser: votes, undo, export, two annotators at once, and nothing that names a model."""

import pytest
from browser_pages import wait_for_frame
from lookback.agreement import read_ratings
from lookback.desk import VoteBook, build_tasks, order_for

pytestmark = pytest.mark.browser
TOTAL = 2 + 6 + 2  # two triggers, six WRBench axes and two MBench object dimensions for one pair of models

ASKING, JUDGEABLE = ".lookback-desk .answers", "clearly enough to be judged"
STANDING = "['.answers', '.count', '.question'].map(part => document.querySelector(part)?.outerHTML).join('')"


def done(page) -> int:
    return int(page.locator(".count").inner_text().split()[0])


def answer(page, key: str) -> None:
    """Press a key and wait until the desk has moved on."""
    before = page.evaluate(STANDING)
    page.keyboard.press(key)
    page.wait_for_function(f"before => {STANDING} !== before", arg=before)


def stage(page) -> str:
    labels = page.eval_on_selector_all(".answers button", "nodes => nodes.map(node => node.dataset.label).join(' ')")
    return "pair" if "left" in labels else "yes/no"


@pytest.fixture(scope="module")
def pages(open_page, desk):
    """Two annotators at once, and everything that the first one's page hears."""
    heard = []
    opened = [open_page(desk["ann"], None, heard), open_page(desk["eli"], None)]
    for page in opened:
        page.wait_for_selector(ASKING)
    yield *opened, heard
    for page in opened:
        page.close()


def test_the_link_says_who_annotates_and_leaves_no_secret_in_the_address(pages):
    for page, name in zip(pages[:2], ("ann", "eli"), strict=True):
        assert f"answered by {name}" in page.locator(".count").inner_text()
        assert "token" not in page.url


def test_an_answer_is_taken_back_by_undo(pages, little, screenshot):
    page, _, _ = pages
    wait_for_frame(page, 0)
    screenshot(page, "desk_first_question")
    question = page.locator(".question").inner_text()
    answer(page, "1" if stage(page) == "pair" else "y")
    assert len(VoteBook(little.folder / "votes.sqlite").ratings()) == 1
    page.keyboard.press("u")
    page.wait_for_function("document.querySelector('.message')?.textContent.includes('taken back')")
    assert page.locator(".question").inner_text() == question and done(page) == 0
    assert VoteBook(little.folder / "votes.sqlite").ratings().empty


def test_a_reload_goes_on_where_it_stopped(pages):
    page, _, _ = pages
    for _ in range(2):
        answer(page, "1" if stage(page) == "pair" else "y")
    before, question = done(page), page.locator(".question").inner_text()
    page.reload()
    page.wait_for_selector(ASKING)
    assert (done(page), page.locator(".question").inner_text()) == (before, question)


def test_two_annotators_at_once_lose_nothing(pages, little, screenshot):
    ann, eli, _ = pages
    kept = set()
    for _ in range(TOTAL + 2):
        for page in (ann, eli):
            if page.locator(".finished").count():
                continue
            asked = "judgeability" if JUDGEABLE in page.locator(".question").inner_text() else stage(page)
            if page is ann and asked not in kept:
                wait_for_frame(page, 0)
                screenshot(page, f"desk_{asked.replace('/', '_')}")
                kept.add(asked)
            judgeable = "n" if page is eli and asked == "judgeability" else "y"
            answer(page, "1" if asked == "pair" else judgeable)
    assert done(ann) == done(eli) == TOTAL
    votes = VoteBook(little.folder / "votes.sqlite").ratings().groupby(["annotator", "task"]).size().to_dict()
    assert votes == {
        ("ann", "judgeability"): 2,
        ("ann", "pairwise"): TOTAL - 2,
        ("ann", "trigger"): 2,
        ("eli", "judgeability"): 2,  # what cannot be judged is not compared
        ("eli", "pairwise"): TOTAL - 4,
        ("eli", "trigger"): 2,
    }


def test_the_export_says_which_model_won_on_either_side(pages, little, screenshot):
    page, _, _ = pages
    page.click(".export")
    page.wait_for_function("document.querySelector('.message')?.textContent.includes('ratings.csv')")
    screenshot(page, "desk_finished")
    ratings = read_ratings(little.folder / "ratings.csv").query("annotator == 'ann' and task == 'pairwise'")
    # the left clip was always preferred: A, the first model by name, wins exactly where the sides were not swapped
    order = order_for("ann", build_tasks(list(little.clips.values()), ("trigger", "pairwise"), 60, 1), 1)
    expected = {(task.benchmark, task.dimension): "-1" if swapped else "1" for task, swapped in order if task.task == "pairwise"}
    assert {(row.benchmark, row.dimension): str(row.label) for row in ratings.itertuples()} == expected
    assert set(expected.values()) == {"1", "-1"}


def test_no_model_name_reached_the_browser(pages):
    page, _, heard = pages
    everything = page.content().encode() + b"".join(part if isinstance(part, bytes) else part.encode() for part in heard)
    assert b"A ball in a playroom." in everything  # the captions came this way
    assert not any(name in everything for name in (b"aldermoor", b"birkdale", b"calderbrook"))
    assert page.errors == []
