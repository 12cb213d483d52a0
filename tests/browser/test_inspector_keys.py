"""The inspector without a mouse: every clip can be reached, the keys stay at hand, and the list keeps its place."""

import shutil

import numpy as np
import pytest
from browser_pages import printed_links, scrub, server, shown, wait_for_frame, wait_for_script
from little_run import RUN
from lookback.media import encode

pytestmark = pytest.mark.long
CLIPS, FRAMES = 60, 12
PSNR = "memobench.psnr (paper)"
FOCUSED = "document.activeElement.dataset.clip ?? document.activeElement.ariaLabel ?? document.activeElement.className"


def label(number: int) -> str:
    return f"folder/model{number:02d}/room"


def in_sight(page, clip: str) -> bool:
    return page.evaluate(
        """clip => {
          const card = [...document.querySelectorAll('.card')].find((node) => node.dataset.clip === clip)?.getBoundingClientRect();
          const room = document.querySelector('.cards').getBoundingClientRect();
          return Boolean(card) && card.top >= room.top - 1 && card.bottom <= room.bottom + 1;
        }""",
        clip,
    )


def film(frames: int) -> np.ndarray:
    return np.full((frames, 48, 64, 3), 200, np.uint8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("many")
    first = encode(root / "model00" / "room.mp4", film(FRAMES), 12.0)
    for number in range(1, CLIPS):
        (root / f"model{number:02d}").mkdir()
        shutil.copy(first, root / f"model{number:02d}" / "room.mp4")
    return root


@pytest.fixture(scope="module")
def page(folder, little, open_page, lookback):
    with server([*lookback, "inspect", str(folder)], little.root, printed_links) as links:
        opened = open_page(links["the inspector"], ".cards img")
        opened.set_viewport_size({"width": 1000, "height": 700})
        opened.wait_for_selector(".card")
        yield opened
        assert opened.errors == [] and opened.asked == []
        opened.close()


def opened_by_key(page, clip: str) -> None:
    page.focus(f"[data-clip='{clip}']")
    page.keyboard.press("Enter")
    page.wait_for_selector(f".stage[data-label='{clip}']:not(.loading)")


def back(page) -> None:
    page.keyboard.press("Escape")
    page.wait_for_selector(".lookback-inspector:not(.opened) .card")


def test_tab_reaches_every_clip_and_shift_tab_comes_back(page):
    page.focus(f"[data-clip='{label(0)}']")
    for number in range(1, 41):
        page.keyboard.press("Tab")  # its box to select it
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUSED) == label(number)
    page.wait_for_timeout(100)
    assert in_sight(page, label(40))
    for number in range(39, 9, -1):
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Shift+Tab")
        assert page.evaluate(FOCUSED) == label(number)


def test_a_box_ticked_with_space_keeps_the_focus(page):
    box = f"select {label(3)}"
    page.evaluate("document.querySelector('.cards').scrollTop = 0")
    page.wait_for_selector(f"[aria-label='{box}']")
    for count in ("1 selected", ""):
        page.focus(f"[aria-label='{box}']")
        page.keyboard.press(" ")
        wait_for_script(page, "text => document.querySelector('.count').textContent.endsWith(text || 'clips')", arg=count)
        assert page.evaluate(FOCUSED) == box


def test_a_clip_opened_by_key_has_the_keys_and_gives_the_focus_back(page):
    opened_by_key(page, label(2))
    wait_for_frame(page, 0)
    page.keyboard.press("ArrowRight")
    wait_for_frame(page, 1)
    page.keyboard.press(" ")
    wait_for_script(page, "document.querySelector('.play').textContent === 'Pause'")
    page.keyboard.press(" ")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "All clips"
    back(page)
    assert page.evaluate(FOCUSED) == label(2)


def test_the_keys_stay_at_hand_after_a_choice_a_tag_and_a_note(page):
    opened_by_key(page, label(2))
    page.focus("[data-sync]")
    page.keyboard.press("ArrowUp")
    wait_for_script(page, "location.search.includes('sync=frame')")
    page.wait_for_selector(".stage:not(.loading)")
    assert page.evaluate(FOCUSED) == "synchronise by"
    page.keyboard.press("ArrowDown")
    wait_for_script(page, "!location.search.includes('sync=')")
    for field, key in ((".marks .new-tag", "Enter"), ("textarea", "Escape")):
        scrub(page, 4)
        wait_for_frame(page, 4)
        page.focus(field)
        page.keyboard.type("mine")
        page.keyboard.press(key)
        page.keyboard.press("ArrowRight")
        wait_for_frame(page, 5)
    page.click(".marks .chip")
    page.wait_for_selector(".marks .chip", state="detached")
    back(page)


@pytest.mark.parametrize("view", ["grid", "list"])
def test_the_clip_just_left_is_in_sight(page, view):
    if view == "list":
        page.click("[data-tool='view']")
        page.wait_for_selector(".cards.rows")
    page.evaluate("document.querySelector('.cards').scrollTop = 1e6")
    page.wait_for_selector(f"[data-clip='{label(CLIPS - 1)}']")
    page.click(f"[data-clip='{label(CLIPS - 2)}']")
    page.wait_for_selector(f".stage[data-label='{label(CLIPS - 2)}']:not(.loading)")
    assert in_sight(page, label(CLIPS - 2))
    back(page)
    assert in_sight(page, label(CLIPS - 2)) and page.evaluate(FOCUSED) == label(CLIPS - 2)
    page.go_back()  # into the clip
    page.wait_for_selector(f".stage[data-label='{label(CLIPS - 2)}']:not(.loading)")
    page.go_back()  # and out of it, without a key of the page
    page.wait_for_selector(".lookback-inspector:not(.opened) .card")
    assert in_sight(page, label(CLIPS - 2))


def test_a_video_that_became_shorter_leaves_no_frame_under_another_number(page, folder):
    page.evaluate("document.querySelector('.cards').scrollTop = 0")
    opened_by_key(page, label(1))
    scrub(page, 9)
    wait_for_frame(page, 9)
    assert shown(page).mean() > 150
    encode(folder / "model01" / "room.mp4", film(5), 12.0)
    page.keyboard.press("ArrowLeft")
    wait_for_script(page, "document.querySelector('.stage .message').textContent.includes('0 to 4, not 8')")
    page.wait_for_selector("canvas.lookback-frame:not([data-frame])")
    assert shown(page).max() < 30
    scrub(page, 3)
    wait_for_frame(page, 3)
    assert shown(page).mean() > 150


def test_a_filter_chosen_with_the_arrows_keeps_the_focus(inspector, open_page):
    page = open_page(f"{inspector}&run={RUN}", ".cards img")
    page.focus("[data-filter='metric']")
    for key, chosen in (("ArrowDown", PSNR), ("ArrowUp", "")):
        page.keyboard.press(key)
        wait_for_script(page, "chosen => document.querySelector('[data-filter=sort]').value === (chosen && 'value')", arg=chosen)
        assert page.evaluate(FOCUSED) == "metric"
        assert page.input_value("[data-filter='metric']") == chosen
    page.focus("[data-tool='select-listed']")
    page.keyboard.press("Enter")
    wait_for_script(page, "document.querySelector('.count').textContent.includes('selected')")
    assert page.evaluate("document.activeElement.dataset.tool") == "select-listed"
    page.focus("[data-tool='select-none']")
    page.keyboard.press("Enter")
    wait_for_script(page, "!document.querySelector('.count').textContent.includes('selected')")
    assert page.errors == []
    page.close()
