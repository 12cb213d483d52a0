"""The annotation desk in a real browser: votes, undo, export, two annotators at once, and nothing that names a model."""

import sqlite3

import pytest
from conftest import wait_for_frame
from lookback.agreement import read_ratings
from lookback.desk import VoteBook, build_tasks, order_for

pytestmark = pytest.mark.browser
TOTAL = 2 + 6 + 2  # two triggers, six WRBench axes and two MBench object dimensions for one pair of models

FORM, JUDGEABLE = ".lookback-desk input[type=text]", "clearly enough to be judged"
STANDING = "['.answers', '.count', '.question'].map(part => document.querySelector(part)?.outerHTML).join('')"


def start(page, name: str) -> None:
    page.fill(FORM, name)
    page.keyboard.press("Enter")
    page.wait_for_selector(".lookback-desk .answers")


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


@pytest.fixture
def book(little):
    path = little.folder / "votes.sqlite"
    VoteBook(path)
    with sqlite3.connect(path) as votes:
        votes.execute("DELETE FROM votes")
    return VoteBook(path)


def test_votes_undo_restart_and_export_without_a_model_name(open_page, voila, little, book, screenshot):
    heard = []
    page = open_page(f"{voila}/annotate.ipynb", FORM, heard)
    start(page, "ann")
    wait_for_frame(page, 0)
    screenshot(page, "desk_first_question")
    for _ in range(2):
        answer(page, "1" if stage(page) == "pair" else "y")
    before, question = done(page), page.locator(".question").inner_text()

    page.reload()
    page.wait_for_selector(FORM, timeout=60_000)
    start(page, "ann")
    assert (done(page), page.locator(".question").inner_text()) == (before, question)

    kept = set()
    while page.locator(".finished").count() == 0:
        asked = "judgeability" if JUDGEABLE in page.locator(".question").inner_text() else stage(page)
        if asked in ("judgeability", "pair") and asked not in kept:
            wait_for_frame(page, 0, slot=1)
            screenshot(page, f"desk_{asked}")
        if asked == "pair" and asked not in kept:
            answer(page, "1")
            before = done(page)
            page.keyboard.press("u")
            page.wait_for_function("document.querySelector('.message')?.textContent.includes('taken back')")
            assert done(page) == before - 1
        kept.add(asked)
        answer(page, "1" if stage(page) == "pair" else "y")
    assert done(page) == TOTAL

    page.click(".export")
    page.wait_for_function("document.querySelector('.message')?.textContent.includes('ratings.csv')")
    screenshot(page, "desk_finished")
    ratings = read_ratings(little.folder / "ratings.csv")
    assert ratings["task"].value_counts().to_dict() == {"pairwise": TOTAL - 2, "trigger": 2, "judgeability": 2}
    # the left clip was always preferred: A, the first model by name, wins exactly where the sides were not swapped
    run_clips = list(little.clips.values())
    order = order_for("ann", build_tasks(run_clips, ("trigger", "pairwise"), 60, 1), 1)
    expected = {(task.benchmark, task.dimension): "-1" if swapped else "1" for task, swapped in order if task.task == "pairwise"}
    pairs = ratings[ratings["task"] == "pairwise"]
    assert {(row.benchmark, row.dimension): str(row.label) for row in pairs.itertuples()} == expected
    assert set(expected.values()) == {"1", "-1"}
    assert page.errors == []
    everything = page.content().encode() + b"".join(part if isinstance(part, bytes) else part.encode() for part in heard)
    assert b"A ball in a playroom." in everything  # the captions came this way
    assert not any(name in everything for name in (b"aldermoor", b"birkdale", b"calderbrook"))
    page.close()


def test_two_annotators_at_once_lose_nothing(open_page, voila, book):
    pages = {name: open_page(f"{voila}/annotate.ipynb", None) for name in ("dee", "eli")}
    for name, page in pages.items():
        page.wait_for_selector(FORM, timeout=60_000)
        start(page, name)
    for _ in range(TOTAL + 2):
        for name, page in pages.items():
            if page.locator(".finished").count() == 0:
                judgeable = "n" if name == "eli" and JUDGEABLE in page.locator(".question").inner_text() else "y"
                answer(page, "2" if stage(page) == "pair" else judgeable)
    assert all(page.locator(".finished").count() == 1 for page in pages.values())
    votes = book.ratings().groupby(["annotator", "task"]).size().to_dict()
    assert votes == {
        ("dee", "judgeability"): 2,
        ("dee", "pairwise"): TOTAL - 2,
        ("dee", "trigger"): 2,
        ("eli", "judgeability"): 2,  # what cannot be judged is not compared
        ("eli", "pairwise"): TOTAL - 4,
        ("eli", "trigger"): 2,
    }
    for page in pages.values():
        page.close()
