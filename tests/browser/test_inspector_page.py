"""The clip inspector in a real browser: what is shown is compared with what the package's own decoder reads."""

import csv
import io
import json
from urllib.parse import quote

import cv2
import numpy as np
import pytest
from browser_pages import printed_links, scrub, server, shown, wait_for_frame, wait_for_script
from little_run import FRAMES, LONG_FRAMES, LONG_LABEL, LONGER, RUN, VERBATIM, long_frame
from lookback.inspector.sync import by_phase
from lookback.layouts.detection import read
from lookback.media import encode, open_video
from lookback.params.stages import Source

pytestmark = pytest.mark.long
FAITHFUL, VANISHING, LONGER_CLIP = (
    f"memobench/synthetic/{model}/Playroom_001" for model in ("aldermoor", "birkdale", "calderbrook")
)


@pytest.fixture(scope="module")
def page(inspector, open_page):
    link = f"&run={RUN}&clip={quote(VANISHING, safe='')}&frame=17"
    opened = open_page(f"{inspector}{link}", ".lookback-inspector canvas.lookback-frame[data-frame]")
    yield opened
    assert opened.errors == []
    assert opened.asked == []
    opened.close()


def open_clip(page, label: str) -> None:
    page.click(f"[data-clip='{label}']")
    page.wait_for_selector(f".stage[data-label='{label}']:not(.loading)")
    scrub(page, 0)
    wait_for_frame(page, 0)


def overlay(page, name: str, on: bool = True) -> None:
    """Toggle an overlay and wait for the picture that Python painted anew."""
    canvas = page.locator("canvas.lookback-frame[data-slot='0']")
    before = canvas.get_attribute("data-version")
    page.set_checked(f"[data-overlay='{name}']", on)
    wait_for_script(
        page,
        "before => { const canvas = document.querySelector(\"canvas.lookback-frame[data-slot='0']\"); "
        "return canvas.dataset.version !== before && canvas.dataset.exact === 'true'; }",
        arg=before,
    )


def test_a_link_opens_the_clip_at_its_frame_in_the_run_that_make_inspect_names(page, little):
    assert page.locator("[aria-current]").get_attribute("data-clip") == VANISHING
    wait_for_frame(page, 17)
    np.testing.assert_array_equal(shown(page), little.frame(VANISHING, 17))
    assert page.locator(".cards [data-clip]").count() == len(little.clips)
    page.keyboard.press("ArrowRight")  # the keys are at hand without a click
    wait_for_frame(page, 18)
    wait_for_script(page, "location.search.endsWith('frame=18')")
    assert page.url.split("?")[1] == f"run={RUN}&clip={quote(VANISHING, safe='')}&frame=18"


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
    wait_for_script(page, "document.querySelector('.play').textContent === 'Pause'")
    wait_for_script(page, "document.querySelector('.play').textContent === 'Play'")
    wait_for_frame(page, FRAMES - 1)
    np.testing.assert_array_equal(shown(page), little.frame(FAITHFUL, FRAMES - 1))


def test_a_pause_shows_the_exact_frame_at_which_the_video_stopped(page, little):
    open_clip(page, FAITHFUL)
    page.select_option("[aria-label='speed']", "0.25")  # a crowded machine must not reach the end first
    page.keyboard.press(" ")
    wait_for_script(page, "document.querySelector('.screen.rolling') && Number(document.querySelector('.slider').value) >= 5")
    assert page.is_hidden("canvas.lookback-frame[data-slot='0']")  # the video itself is seen
    page.keyboard.press(" ")
    index = int(page.locator(".slider").input_value())
    assert 5 <= index < FRAMES
    wait_for_frame(page, index)
    page.wait_for_selector(".screen.rolling", state="detached")
    np.testing.assert_array_equal(shown(page), little.frame(FAITHFUL, index))
    time = page.eval_on_selector("video[data-slot='0']", "film => film.currentTime")
    assert abs(time * 12 - index) < 2.5  # the film may go on a little before it obeys
    assert page.is_visible("canvas.lookback-frame[data-slot='0']")


def test_a_marked_part_is_looped(page):
    open_clip(page, FAITHFUL)
    for index, key in ((4, "["), (9, "]")):
        scrub(page, index)
        page.keyboard.press(key)
    page.evaluate(
        "window.seen = []; window.watch = setInterval(() => window.seen.push(Number(document.querySelector('.slider').value)), 20)"
    )
    page.keyboard.press(" ")
    wait_for_script(page, "window.seen.filter((at, k) => k && at < window.seen[k - 1]).length >= 2")
    page.keyboard.press(" ")
    played = page.evaluate("clearInterval(window.watch), window.seen")
    assert min(played) >= 4 and max(played) <= 10
    page.select_option("[data-loop]", "")


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
    wait_for_script(page, "document.querySelector(\"canvas[data-slot='0']\").dataset.exact === 'true'")
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


def listed(page) -> list[str]:
    """The clips of the grid, row by row as they are seen."""
    place = "node => [node.parentElement.offsetTop, node.parentElement.offsetLeft, node.dataset.clip]"
    return [label for _, _, label in sorted(page.eval_on_selector_all(".cards [data-clip]", f"nodes => nodes.map({place})"))]


def set_filters(page, **values) -> None:
    """Set the filters by their names; the others are cleared."""
    for name in ("model", "scene", "failure", "metric", "tag"):
        page.select_option(f"[data-filter='{name}']", values.get(name, ""))
    for name in ("low", "high", "text", "prompt"):
        page.fill(f"[data-filter='{name}']", str(values.get(name, "")))
    page.select_option("[data-filter='sort']", values.get("sort", ""))


def wait_for_list(page, expected) -> None:
    labels = "[...document.querySelectorAll('.cards [data-clip]')].map(node => node.dataset.clip)"
    wait_for_script(page, f"wanted => {labels}.sort().join() === wanted", arg=",".join(sorted(expected)))


def test_the_grid_filters_by_model_failure_metric_range_name_and_prompt(page, little, screenshot):
    page.keyboard.press("Escape")
    page.wait_for_selector(".lookback-inspector:not(.opened) .cards img")
    psnr = "memobench.psnr (paper)"
    for values, expected in (
        ({"model": "calderbrook"}, [LONGER_CLIP]),
        ({"failure": "object_vanishes"}, [VANISHING]),
        ({"failure": "any"}, [VANISHING]),
        ({"failure": "none"}, set(little.clips) - {VANISHING}),
        ({"metric": psnr}, [FAITHFUL, VANISHING]),
        ({"metric": psnr, "high": 55}, [VANISHING]),
        ({"metric": psnr, "low": 55}, [FAITHFUL]),
        ({"text": "long"}, [LONG_LABEL]),
        ({"prompt": "BALL in"}, set(little.clips) - {LONG_LABEL}),
        ({}, little.clips),
    ):
        set_filters(page, **values)
        wait_for_list(page, expected)
    wait_for_script(page, "[...document.querySelectorAll('.cards img')].every(img => img.complete && img.naturalWidth === 320)")
    screenshot(page, "inspector_grid")


def test_the_grid_sorts_and_shows_the_values(page, little, screenshot):
    psnr = "memobench.psnr (paper)"
    page.select_option("[data-filter='metric']", psnr)
    wait_for_list(page, [FAITHFUL, VANISHING])
    assert listed(page) == [VANISHING, FAITHFUL]  # a chosen metric shows the worst first
    values = page.eval_on_selector_all("[data-value]", "nodes => nodes.map(node => Number(node.textContent))")
    assert sorted(values)[1] == 60 and sorted(values)[0] < 55
    page.click(".order")
    wait_for_script(page, "location.search.includes('order=down')")
    assert listed(page) == [FAITHFUL, VANISHING]
    page.click("[data-tool='view']")
    page.wait_for_selector(".cards.rows")
    screenshot(page, "inspector_list")
    page.click("[data-tool='view']")
    set_filters(page, sort="failure")
    wait_for_list(page, little.clips)
    assert listed(page)[0] == VANISHING
    page.click(".order")
    set_filters(page)


def test_the_next_failure_comes_by_a_key(page):
    open_clip(page, FAITHFUL)
    page.keyboard.press("f")
    page.wait_for_selector(f"[data-clip='{VANISHING}'][aria-current]")
    wait_for_frame(page, 14)
    scrub(page, 20)
    page.keyboard.press("Shift+F")
    wait_for_frame(page, 14)


def test_a_wipe_shows_one_clip_left_and_the_other_right_of_the_line(page, little, screenshot):
    open_clip(page, FAITHFUL)
    page.select_option("[data-compare]", label="calderbrook")
    page.wait_for_selector("canvas[data-slot='2']")
    page.select_option("[data-sync]", "frame")
    page.wait_for_selector(".stage.loading", state="detached")
    scrub(page, 12)
    wait_for_frame(page, 12, slot=2)
    page.keyboard.press("w")
    page.select_option("[data-against]", "2")
    box = page.locator(".screen").first.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 80, steps=4)
    page.mouse.up()
    wait_for_script(page, "location.search.includes('wipe=25')")
    seen = cv2.imdecode(np.frombuffer(page.screenshot(clip=box), np.uint8), 1)[..., ::-1].astype(int)
    size = (seen.shape[1], seen.shape[0])
    left, right = (cv2.resize(little.frame(label, 12), size).astype(int) for label in (FAITHFUL, LONGER_CLIP))
    split = round(0.25 * size[0])
    for part, near, far in ((np.s_[60:, : split - 8], left, right), (np.s_[60:, split + 8 :], right, left)):
        assert np.abs(seen[part] - near[part]).mean() < 6 < np.abs(seen[part] - far[part]).mean()
    screenshot(page, "inspector_wipe")
    page.keyboard.press("w")
    page.select_option("[data-sync]", "phase")
    page.click("[aria-label='remove calderbrook']")


def test_zoom_keeps_the_point_under_the_mouse_and_a_drag_moves_the_picture(page):
    open_clip(page, FAITHFUL)
    box = page.locator(".screen").first.bounding_box()
    place = "node => { const box = node.getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; }"
    at = box["x"] + 0.3 * box["width"], box["y"] + 0.6 * box["height"]
    page.mouse.move(*at)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    wait_for_script(page, "location.search.includes('zoom=')")
    left, top, width, height = page.eval_on_selector("canvas.lookback-frame", place)
    assert width / box["width"] == pytest.approx(np.e, rel=0.02)
    assert ((at[0] - left) / width, (at[1] - top) / height) == pytest.approx((0.3, 0.6), abs=0.01)
    page.mouse.down()
    page.mouse.move(at[0] + 40, at[1] + 30, steps=3)
    page.mouse.up()
    moved = page.eval_on_selector("canvas.lookback-frame", place)
    assert (moved[0] - left, moved[1] - top) == pytest.approx((40, 30), abs=1)
    page.keyboard.press("0")
    assert page.eval_on_selector("canvas.lookback-frame", place)[2] == pytest.approx(box["width"], abs=1)


def test_curves_of_several_models_and_their_paths_stand_together(page, screenshot):
    open_clip(page, FAITHFUL)
    boxes = page.eval_on_selector_all("[data-model]", "nodes => nodes.map(node => [node.dataset.model, node.checked])")
    assert dict(boxes) == {"aldermoor": True, "birkdale": False, "calderbrook": False}
    before = page.evaluate("document.querySelector('canvas.curves').toDataURL()")
    page.check("[data-model='birkdale']")
    assert page.evaluate("document.querySelector('canvas.curves').toDataURL()") != before
    page.click("[data-part='path'] summary")
    page.wait_for_selector("canvas.path[data-paths='2']")  # asked and made
    assert page.locator("[data-part='path'] label").all_inner_texts() == ["asked, only turns", "aldermoor (made), only turns"]
    drawn = page.evaluate("document.querySelector('canvas.path').toDataURL()")
    box = page.locator("canvas.path").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 150)
    page.mouse.down()
    page.mouse.move(box["x"] + 320, box["y"] + 170, steps=3)
    page.mouse.up()
    assert page.evaluate("document.querySelector('canvas.path').toDataURL()") != drawn
    screenshot(page, "inspector_path")
    page.click("[data-part='path'] summary")


def test_tags_and_a_selection_are_kept_and_exported(page, little):
    open_clip(page, VANISHING)
    page.keyboard.press("x")
    page.wait_for_selector(".selector[aria-pressed='true']")
    page.fill(".marks .new-tag", "look again")
    page.keyboard.press("Enter")
    page.wait_for_selector(".marks .chip")
    page.check(f"[aria-label='select {FAITHFUL}']")
    wait_for_script(page, "document.querySelector('.count').textContent.includes('2 selected')")
    with page.expect_download() as download:
        page.click("[data-tool='export']")
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert {(row["model_id"], row["tags"]) for row in rows} == {("birkdale", "look again"), ("aldermoor", "")}
    assert "object_vanishes from frame 14" in {row["failures"] for row in rows}
    assert (little.folder / "selected.csv").read_text() == download.value.path().read_text()
    assert json.loads((little.folder / "tags.json").read_text())[VANISHING] == ["look again", "selected"]


FIRST_ANSWER_LATE = """() => {
  const real = window.fetch, late = new Promise((done) => setTimeout(done, 1000));
  let calls = 0;
  window.fetch = async (...asked) => {
    const first = calls++ === 0, answer = await real(...asked);
    if (first) await late;
    return answer;
  };
}"""


def test_two_changes_at_once_and_a_half_typed_tag_are_all_kept(page, little):
    (little.folder / "tags.json").write_text(json.dumps({VANISHING: ["look again", "selected"]}))
    page.reload()
    open_clip(page, VANISHING)
    page.wait_for_selector(".marks .chip")
    page.fill(".marks .new-tag", "half")
    page.evaluate(FIRST_ANSWER_LATE)
    page.click("[data-tool='select-none']")
    page.click(".marks .chip")
    page.wait_for_selector(".marks .chip", state="detached")
    page.wait_for_timeout(1500)
    assert page.locator(".marks .chip").count() == 0
    assert page.get_attribute(".selector", "aria-pressed") == "false"
    assert page.input_value(".marks .new-tag") == "half"
    assert json.loads((little.folder / "tags.json").read_text()) == {}


def test_a_link_brings_another_visitor_to_the_same_view(page, inspector, open_page):
    state = f"&run={RUN}&clip={quote(FAITHFUL, safe='')}&frame=9&compare={quote(VANISHING, safe='')}"
    state += "&wipe=30&against=2&zoom=2,-0.5,-0.25&failure=none&model=aldermoor&overlays=mask"
    other = open_page(f"{inspector}{state}", "canvas.lookback-frame[data-slot='2'][data-frame='9'][data-exact='true']")
    assert other.locator(".clips.wipe figure.b").get_attribute("data-slot") == "2"
    assert other.locator(".count").inner_text().startswith("3 of ")
    assert other.is_checked("[data-overlay='mask']")
    assert "scale(2)" in other.locator(".layer").first.get_attribute("style")
    wait_for_script(other, "!location.search.includes('token')")
    other.click("[data-tool='link']")
    wait_for_script(other, "document.querySelector('.stage .message').textContent.includes('frame=9')")
    copied = other.locator(".stage .message").inner_text()
    for part in ("wipe=30", "zoom=2", "failure=none", "overlays=mask", "against=2"):
        assert part in copied
    assert "token" not in copied
    assert other.errors == [] and other.asked == []
    other.close()


@pytest.fixture(scope="module")
def folder(little):
    """Two models' clips of one scene, without any run."""
    root = little.root / "own clips"
    for model, label in (("aldermoor", FAITHFUL), ("birkdale", VANISHING)):
        (root / model).mkdir(parents=True)
        with open_video(little.root / little.clips[label].video) as video:
            encode(root / model / "playroom.mp4", video.read(range(FRAMES)), 12.0)
    return root


def test_a_plain_folder_opens_and_a_drawn_box_becomes_a_row_of_anchors(little, folder, open_page, screenshot, lookback):
    (folder / "anchors.csv").write_text("clip_id,centre_x,centre_y,width,height\nattic,0.5,0.5,0.1,0.1\n")
    with server([*lookback, "inspect", str(folder)], little.root, printed_links) as links:
        page = open_page(links["the inspector"], ".cards img")
        assert page.locator("h1").inner_text() == "own_clips"
        assert page.locator("[data-filter='metric']").count() == 0
        screenshot(page, "inspector_folder")
        page.click("[data-clip='folder/aldermoor/playroom']")
        wait_for_frame(page, 0)
        page.select_option("[data-compare]", label="birkdale")
        wait_for_frame(page, 0, slot=1)
        scrub(page, 6)
        page.keyboard.press("b")
        wait_for_frame(page, 0)
        box = page.locator(".screen").first.bounding_box()
        page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.3 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.8 * box["height"], steps=5)
        page.mouse.up()
        page.keyboard.press("Escape")
        assert not page.locator(".subject").is_visible(), "a box that was not saved"
        page.keyboard.press("b")
        page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.3 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.8 * box["height"], steps=5)
        page.mouse.up()
        page.fill("[aria-label='name of the subject']", "the ball")
        screenshot(page, "inspector_box")
        page.click("[data-tool='save-box']")
        wait_for_script(page, "document.querySelector('.stage .message').textContent.includes('anchors.csv')")
        assert page.locator(".subject").is_visible()
        assert page.errors == [] and page.asked == []
        page.close()
    kept, drawn = csv.DictReader((folder / "anchors.csv").open())
    assert kept["clip_id"] == "attic" and kept["centre_x"] == "0.5"
    assert (drawn["clip_id"], drawn["model_id"], drawn["name"]) == ("playroom", "", "the ball")
    numbers = [float(drawn[name]) for name in ("centre_x", "centre_y", "width", "height")]
    assert numbers == pytest.approx([0.35, 0.55, 0.3, 0.5], abs=0.01)
    anchors = [clip.object_anchor for clip in read(Source(root=str(folder))).clips]
    assert len(anchors) == 2 and all(anchor is not None and anchor.width < 1 for anchor in anchors)


@pytest.mark.parametrize(("width", "height", "seen"), [(288, 512, 366), (512, 288, 900)], ids=["upright", "lying"])
def test_a_clip_is_seen_whole_with_its_controls(little, tmp_path, open_page, screenshot, lookback, width, height, seen):
    for model in ("one", "two"):
        encode(tmp_path / "clips" / model / "room.mp4", np.full((6, height, width, 3), 90, np.uint8), 12.0)
    with server([*lookback, "inspect", str(tmp_path / "clips")], little.root, printed_links) as links:
        page = open_page(links["the inspector"], ".cards img")
        page.set_viewport_size({"width": 1300, "height": 1000})
        page.keyboard.press("n")  # from the list it opens the first clip
        page.wait_for_selector(".stage[data-label='folder/one/room']:not(.loading)")
        wait_for_frame(page, 0)
        box = page.locator(".screen").bounding_box()
        assert box["width"] == pytest.approx(seen, abs=1)
        assert box["width"] / box["height"] == pytest.approx(width / height, abs=0.01)
        assert page.locator(".transport").bounding_box()["y"] < 800
        assert page.locator("canvas.lookback-frame").bounding_box() == box, "what is painted lies on the picture"
        page.select_option("[data-compare]", label="two")
        wait_for_frame(page, 0, slot=1)
        page.keyboard.press("w")
        page.wait_for_selector(".clips.wipe")
        assert page.locator(".wiper").bounding_box() == page.locator(".screen").first.bounding_box()
        screenshot(page, f"inspector_{width}x{height}")
        assert page.errors == [] and page.asked == []
        page.close()


def test_a_note_is_saved_to_the_run_and_comes_back_with_the_clip(page, little):
    open_clip(page, VANISHING)
    page.fill("textarea", "the ball is gone")
    wait_for_script(page, "document.querySelector('.saved').textContent === 'saved'")
    assert json.loads((little.folder / "notes.json").read_text()) == {VANISHING: "the ball is gone"}
    open_clip(page, FAITHFUL)
    assert page.input_value("textarea") == ""
    open_clip(page, VANISHING)
    assert page.input_value("textarea") == "the ball is gone"


def note_of(little, label: str) -> str:
    return json.loads((little.folder / "notes.json").read_text()).get(label, "")


def test_a_note_typed_just_before_a_reload_is_kept(page, little):
    open_clip(page, FAITHFUL)
    page.fill("textarea", "typed and gone")
    page.reload()
    page.wait_for_selector(f".stage[data-label='{FAITHFUL}']:not(.loading)")
    assert page.input_value("textarea") == note_of(little, FAITHFUL) == "typed and gone"
    page.fill("textarea", "")
    page.go_back()  # to another clip, before the pause after which a note is saved
    page.wait_for_selector(f".stage:not([data-label='{FAITHFUL}']):not(.loading)")
    assert note_of(little, FAITHFUL) == ""


def test_a_note_that_another_tab_has_changed_is_not_overwritten_unasked(page, little, inspector, open_page, screenshot):
    opened = f".stage[data-label='{LONGER_CLIP}']:not(.loading)"
    open_clip(page, LONGER_CLIP)
    other = open_page(f"{inspector}&run={RUN}&clip={quote(LONGER_CLIP, safe='')}", opened)
    for mine in (True, False):
        other.fill("textarea", f"from the other tab, {mine}")
        wait_for_script(other, "document.querySelector('.saved').textContent === 'saved'")
        page.fill("textarea", f"from this tab, {mine}")
        page.wait_for_selector("[data-tool='save-mine']")
        assert f"another window saved “from the other tab, {mine}”" in page.inner_text(".saved")
        assert note_of(little, LONGER_CLIP) == f"from the other tab, {mine}"
        screenshot(page, "inspector_note_of_two_tabs")
        page.click(f"[data-tool='{'save-mine' if mine else 'take-other'}']")
        if mine:
            wait_for_script(page, "document.querySelector('.saved').textContent === 'saved'")
            assert note_of(little, LONGER_CLIP) == "from this tab, True"
            other.reload()
            other.wait_for_selector(opened)
    wait_for_script(page, "document.querySelector('textarea').value === 'from the other tab, False'")
    page.fill("textarea", "")
    wait_for_script(page, "document.querySelector('.saved').textContent === 'saved'")
    other.close()


def test_a_quarter_of_an_hour_opens_and_seeks_to_the_exact_frame(page, screenshot):
    """How little a seek decodes is counted in tests/media; seconds would say more about the machine's load."""
    open_clip(page, LONG_LABEL)
    assert f"0–{LONG_FRAMES - 1}" in page.locator(".position").inner_text()
    for index in np.random.default_rng(3).integers(0, LONG_FRAMES, 4).tolist():
        scrub(page, index)
        wait_for_frame(page, index)
        expected = long_frame(index)[400, ::3, 0].astype(int)  # shown at 1280 of 1920 pixels
        assert np.abs(shown(page)[267, ::2, 0].astype(int) - expected).mean() < 4
    screenshot(page, "inspector_long_clip")
