"""The clip inspector in a real browser: what is shown is compared with what the package's own decoder reads."""

import json
from urllib.parse import quote

import numpy as np
import pytest
from browser_pages import scrub, shown, wait_for_frame
from little_run import FRAMES, LONG_FRAMES, LONG_LABEL, LONGER, RUN, VERBATIM, long_frame
from lookback.inspector.widget import by_phase

pytestmark = pytest.mark.browser
FAITHFUL, VANISHING, LONGER_CLIP = (
    f"memobench/synthetic/{model}/Playroom_001" for model in ("aldermoor", "birkdale", "calderbrook")
)


@pytest.fixture(scope="module")
def page(inspector, open_page):
    link = f"&clip={quote(VANISHING, safe='')}&frame=17"
    opened = open_page(f"{inspector}{link}", ".lookback-inspector canvas.lookback-frame[data-frame]")
    yield opened
    assert opened.errors == []
    assert opened.asked == []
    opened.close()


def open_clip(page, label: str) -> None:
    page.click(f"[data-clip='{label}']")
    page.wait_for_selector(f"[data-clip='{label}'][aria-current]")
    scrub(page, 0)
    wait_for_frame(page, 0)


def overlay(page, name: str, on: bool = True) -> None:
    """Toggle an overlay and wait for the picture that Python painted anew."""
    canvas = page.locator("canvas.lookback-frame[data-slot='0']")
    before = canvas.get_attribute("data-version")
    page.set_checked(f"[data-overlay='{name}']", on)
    page.wait_for_function(
        "before => { const canvas = document.querySelector(\"canvas.lookback-frame[data-slot='0']\"); "
        "return canvas.dataset.version !== before && canvas.dataset.exact === 'true'; }",
        arg=before,
    )


def test_a_link_opens_the_clip_at_its_frame_in_the_run_that_make_inspect_names(page, little):
    assert page.locator("[aria-current]").get_attribute("data-clip") == VANISHING
    wait_for_frame(page, 17)
    np.testing.assert_array_equal(shown(page), little.frame(VANISHING, 17))
    assert page.locator(".listing [data-clip]").count() == len(little.clips)
    page.keyboard.press("ArrowRight")  # the keys are at hand without a click
    wait_for_frame(page, 18)
    assert page.locator(".deeplink").get_attribute("href") == f"?run={RUN}&clip={quote(VANISHING, safe='')}&frame=18"


@pytest.mark.parametrize("index", [0, 7, 13, FRAMES - 1, 4])
def test_scrubbing_shows_exactly_that_frame(page, little, index):
    open_clip(page, VANISHING)
    scrub(page, index)
    wait_for_frame(page, index)
    np.testing.assert_array_equal(shown(page), little.frame(VANISHING, index))


def test_the_ground_truth_stands_beside_the_clip(page, little, screenshot):
    open_clip(page, VANISHING)
    scrub(page, 16)
    wait_for_frame(page, 16, slot=1)
    np.testing.assert_array_equal(shown(page, 1), little.frame(VANISHING, 16, truth=True))
    screenshot(page, "inspector_ground_truth")


def test_arrows_step_and_n_and_p_change_the_clip(page):
    open_clip(page, FAITHFUL)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    wait_for_frame(page, 1)
    page.keyboard.press("Shift+ArrowRight")
    wait_for_frame(page, 11)
    order = page.eval_on_selector_all("[data-clip]", "nodes => nodes.map(node => node.dataset.clip)")
    page.keyboard.press("n")
    page.wait_for_selector(f"[data-clip='{order[order.index(FAITHFUL) + 1]}'][aria-current]")
    page.keyboard.press("p")
    page.wait_for_selector(f"[data-clip='{FAITHFUL}'][aria-current]")


def test_space_plays_to_the_end(page, little):
    open_clip(page, FAITHFUL)
    page.keyboard.press("End")
    wait_for_frame(page, FRAMES - 1)
    page.keyboard.press(" ")
    page.wait_for_function("document.querySelector('.play').textContent === 'Pause'")
    page.wait_for_function("document.querySelector('.play').textContent === 'Play'", timeout=120_000)
    wait_for_frame(page, FRAMES - 1)
    np.testing.assert_array_equal(shown(page), little.frame(FAITHFUL, FRAMES - 1))


def test_models_side_by_side_by_phase_and_by_frame(page, little, screenshot):
    open_clip(page, FAITHFUL)
    page.select_option("[data-compare]", label="calderbrook")
    page.wait_for_selector("canvas[data-slot='2']")
    page.select_option("[data-compare]", label="birkdale")
    page.wait_for_selector("canvas[data-slot='3']")
    scrub(page, 16)
    clip = little.clips[FAITHFUL]
    scale = LONGER / FRAMES
    beside = by_phase(
        [0, clip.d_start, clip.r_start, FRAMES], [0, round(clip.d_start * scale), round(clip.r_start * scale), LONGER]
    )[16]
    assert beside != 16
    wait_for_frame(page, beside, slot=2)
    np.testing.assert_array_equal(shown(page, 2), little.frame(LONGER_CLIP, beside))
    wait_for_frame(page, 16, slot=3)
    screenshot(page, "inspector_three_models")
    page.select_option("[data-sync]", "frame")
    wait_for_frame(page, 16, slot=2)
    np.testing.assert_array_equal(shown(page, 2), little.frame(LONGER_CLIP, 16))
    page.select_option("[data-sync]", "phase")
    page.click("[aria-label='remove calderbrook']")
    page.wait_for_selector("canvas[data-slot='3']", state="detached")


def test_overlays_show_the_mask_the_track_the_depth_and_the_difference(page, little, screenshot):
    open_clip(page, VANISHING)
    scrub(page, 2)
    wait_for_frame(page, 2)
    plain = little.frame(VANISHING, 2)
    masks = np.load(next((little.folder / "artifacts" / "masks").rglob("*.npz")))["masks"]  # both models show the ball in frame 2
    ball = np.unpackbits(masks[2], axis=-1).astype(bool)
    overlay(page, "mask")
    changed = (shown(page) != plain).any(axis=-1)
    assert changed[ball].mean() > 0.95 and changed[~ball].mean() < 0.05
    screenshot(page, "inspector_mask")
    overlay(page, "mask", False)
    np.testing.assert_array_equal(shown(page), plain)
    for name in ("track", "depth"):
        overlay(page, name)
        assert (shown(page) != plain).any()
        screenshot(page, f"inspector_{name}")
        overlay(page, name, False)
    overlay(page, "difference")
    assert shown(page).mean() < 20  # like its ground truth: nearly black
    scrub(page, 20)
    wait_for_frame(page, 20)
    assert shown(page).max() > 150  # the ball is missing here
    screenshot(page, "inspector_difference")
    overlay(page, "difference", False)


def test_a_clicked_point_is_found_again_after_the_turn(page, little, screenshot):
    open_clip(page, FAITHFUL)
    overlay(page, "epipolar")
    page.click("canvas.lookback-frame[data-slot='0']", position={"x": 200, "y": 150})
    page.wait_for_function("document.querySelector(\"canvas[data-slot='0']\").dataset.exact === 'true'")
    scrub(page, 4)
    wait_for_frame(page, 4)
    orange = (np.abs(shown(page).astype(int) - (213, 94, 0)) < 12).all(axis=-1)
    assert orange.any() and not (np.abs(little.frame(FAITHFUL, 4).astype(int) - (213, 94, 0)) < 12).all(axis=-1).any()
    screenshot(page, "inspector_epipolar")
    overlay(page, "epipolar", False)


def test_an_overlay_without_its_artifact_is_off_and_says_why(page):
    open_clip(page, VANISHING)
    assert page.is_disabled("[data-overlay='faces']")
    assert "no face in this clip" in page.locator(".overlay-hint").inner_text()


def test_a_click_on_a_curve_seeks_and_the_cursor_follows(page, little, screenshot):
    open_clip(page, VANISHING)
    box = page.locator("canvas.curves").bounding_box()
    left, right = 64, 14  # the chart's margins
    page.mouse.click(box["x"] + left + (box["width"] - left - right) * 15 / (FRAMES - 1), box["y"] + 60)
    wait_for_frame(page, 15)
    np.testing.assert_array_equal(shown(page), little.frame(VANISHING, 15))
    assert page.get_attribute("canvas.curves", "data-frame") == "15"
    scrub(page, 3)
    page.wait_for_selector("canvas.curves[data-frame='3']")
    screenshot(page, "inspector_curves")


def test_answers_are_verbatim_and_failures_lead_to_their_frame(page, screenshot):
    open_clip(page, VANISHING)
    page.click("[data-part='answers'] summary")
    assert VERBATIM in page.locator("[data-part='answers']").inner_text()
    page.click("[data-part='failures'] tr.link")
    wait_for_frame(page, 14)
    screenshot(page, "inspector_answers")


def test_filters_by_model_failure_metric_range_and_name(page, little):
    def lists(expected, **values):
        for name in ("model", "scene", "failure", "metric"):
            page.select_option(f"[data-filter='{name}']", values.get(name, ""))
        for name in ("low", "high", "text"):
            page.fill(f"[data-filter='{name}']", str(values.get(name, "")))
            page.dispatch_event(f"[data-filter='{name}']", "change")
        labels = "[...document.querySelectorAll('.listing [data-clip]')].map(node => node.dataset.clip)"
        page.wait_for_function(f"wanted => {labels}.sort().join() === wanted", arg=",".join(sorted(expected)))

    lists([LONGER_CLIP], model="calderbrook")
    lists([VANISHING], failure="object_vanishes")
    lists([FAITHFUL, VANISHING], metric="memobench.psnr (paper)")
    lists([VANISHING], metric="memobench.psnr (paper)", high=55)
    lists([FAITHFUL], metric="memobench.psnr (paper)", low=55)
    lists([LONG_LABEL], text="long")
    lists(little.clips)


def test_a_note_is_saved_to_the_run_and_comes_back_with_the_clip(page, little):
    open_clip(page, VANISHING)
    page.fill("textarea", "the ball is gone")
    page.wait_for_function("document.querySelector('.saved').textContent === 'saved'")
    assert json.loads((little.folder / "notes.json").read_text()) == {VANISHING: "the ball is gone"}
    open_clip(page, FAITHFUL)
    assert page.input_value("textarea") == ""
    open_clip(page, VANISHING)
    assert page.input_value("textarea") == "the ball is gone"


def test_a_quarter_of_an_hour_opens_and_seeks_to_the_exact_frame(page, screenshot):
    """How little a seek decodes is counted in tests/media; seconds would say more about the machine's load."""
    open_clip(page, LONG_LABEL)
    assert f"0–{LONG_FRAMES - 1}" in page.locator(".position").inner_text()
    for index in np.random.default_rng(3).integers(0, LONG_FRAMES, 9).tolist():
        scrub(page, index)
        wait_for_frame(page, index)
        expected = long_frame(index)[400, ::3, 0].astype(int)  # shown at 1280 of 1920 pixels
        assert np.abs(shown(page)[267, ::2, 0].astype(int) - expected).mean() < 4
    screenshot(page, "inspector_long_clip")
