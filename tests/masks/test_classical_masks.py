"""The embedded mask tracker against the demo world's true masks and visibility, and its typed reasons."""

from __future__ import annotations

import numpy as np
import pytest
from lookback.backends.base import BackendOptions
from lookback.backends.masks.classical.motion import sources
from lookback.backends.masks.classical.tracker import ClassicalMasks
from lookback.benchmarks.mbench.metrics.object_geometry_consistency import frame_mask
from lookback.clips import Anchor
from lookback.demo.clip import VISIBLE
from lookback.errors import NotScorable, Reason
from mask_scenes import Filmed, film

PAN_AND_RETURN = "static@3,yaw:left:60@12,static@3,yaw:right:60@12,static@4"


@pytest.fixture(scope="module")
def backend() -> ClassicalMasks:
    return ClassicalMasks(BackendOptions())


@pytest.mark.parametrize(("scene", "least"), [("office", 0.72), ("plaza", 0.85)])
def test_faithful_pan_and_return_is_followed_out_and_back(backend: ClassicalMasks, scene: str, least: float) -> None:
    filmed = film(scene, PAN_AND_RETURN)
    entry = filmed.run(backend)
    seen = entry.state != 0
    assert filmed.overlap(entry)[filmed.visible >= 0.5].mean() > least
    assert (seen == (filmed.visible >= VISIBLE)).mean() >= 0.93
    assert entry.state[0] == 1 and entry.state[-1] == 3
    assert 2 in entry.state  # cut by the border on the way
    assert np.isnan(entry.boxes[~seen]).all() and (entry.confidence[~seen] == 0).all()


def test_event_while_unseen_is_found_again_in_its_new_state(backend: ClassicalMasks) -> None:
    filmed = film("kitchen", "static@3,yaw:right:60@12,static@3,yaw:left:60@12,static@4", event="state")
    entry = filmed.run(backend)
    assert ((entry.state != 0) == (filmed.visible >= VISIBLE)).mean() >= 0.9
    assert filmed.overlap(entry)[-1] > 0.6


def test_object_that_vanishes_stays_out(backend: ClassicalMasks) -> None:
    filmed = film("office", PAN_AND_RETURN, failure="object_vanishes", severity=1.0)
    state = filmed.run(backend).state
    assert (state[:4] == 1).all()
    assert (state[18:] == 0).all()


def test_static_camera_keeps_the_object_in_view(backend: ClassicalMasks) -> None:
    filmed = film("playroom", "static@12")
    entry = filmed.run(backend)
    assert (entry.state == 1).all()
    assert filmed.overlap(entry).min() > 0.75
    assert entry.confidence.min() > 0.9


def test_identical_pushes_give_identical_bytes_whatever_the_batches(backend: ClassicalMasks) -> None:
    filmed = film("playroom", "static@12")
    first, second = filmed.run(backend, batch=8), filmed.run(ClassicalMasks(BackendOptions()), batch=5)
    for name, values in first.pack().arrays.items():
        assert values.tobytes() == second.pack().arrays[name].tobytes()


def test_artifact_has_the_shape_its_readers_expect(backend: ClassicalMasks) -> None:
    filmed = film("playroom", "static@12")
    entry = filmed.run(backend)
    count, height, width = entry.record["shape"]
    assert entry.packed.shape == (count, height, -(-width // 8)) and count == 12
    mask = frame_mask(entry, 0, filmed.frames.shape[1:3])
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    around = [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]
    np.testing.assert_allclose(entry.boxes[0], around, atol=1)
    np.testing.assert_allclose(entry.area[0], mask.mean(), atol=1e-3)
    assert entry.frame_index.tolist() == list(range(12))
    assert entry.record["prompt"] == "object anchor"


def test_clip_without_anchor_is_a_missing_input(backend: ClassicalMasks) -> None:
    filmed = film("playroom", "static@12")
    with pytest.raises(NotScorable) as caught:
        backend.start(filmed.clip.model_copy(update={"object_anchor": None}), filmed.info, {})
    assert caught.value.reason == Reason.MISSING_INPUT


def test_anchor_outside_the_picture_is_an_invalid_input(backend: ClassicalMasks) -> None:
    filmed = film("playroom", "static@12")
    far = Anchor(centre_x=900, centre_y=50, width=40, height=40)
    with pytest.raises(NotScorable) as caught:
        backend.start(filmed.clip.model_copy(update={"object_anchor": far}), filmed.info, {})
    assert caught.value.reason == Reason.INVALID_INPUT


def test_a_small_picture_does_not_change_the_motion_in_the_next_clip() -> None:
    """OpenCV's search lowers its own finest scale for a small picture, and would keep it."""
    grey = film("playroom", "static@12").frames[0, ..., 1].copy()
    moved = np.roll(grey, 5, axis=1)
    wanted = sources(moved, grey, None)
    sources(moved[:40, :40].copy(), grey[:40, :40].copy(), None)
    assert np.array_equal(sources(moved, grey, None), wanted)


def test_a_very_wide_picture_does_not_crash_the_search_for_motion() -> None:
    low = film("playroom", "static@12").frames[0, :20, :, 1].copy()
    assert np.array_equal(sources(low, low, None)[7, 200], (200, 7))


def test_hidden_history_is_bounded(backend: ClassicalMasks) -> None:
    filmed: Filmed = film("playroom", "static@12")
    blank = np.random.default_rng(0).integers(0, 255, (8, *filmed.frames.shape[1:]), np.uint8)
    job = backend.start(filmed.clip, filmed.info, {})
    job.push(np.arange(8), filmed.frames[:8])
    for start in range(8, 88, 8):
        job.push(np.arange(start, start + 8), blank)
    assert len(job.tracker.absence) == job.tracker.absence.maxlen
    assert (job.finish().state[8:] == 0).all()
