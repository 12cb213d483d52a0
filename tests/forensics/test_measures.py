"""Every measure on pictures whose answer is known because they were made so."""

from __future__ import annotations

from dataclasses import replace

import cv2
import made_artifacts
import numpy as np
import pytest
from forensics_evidence import HEIGHT, WIDTH, make_path, pair_of
from lookback.camera.poses import yaw_deg
from lookback.forensics import measures
from lookback.forensics.pairs import align, as_float, rotation_homography

NOBODY = np.zeros((HEIGHT, WIDTH), bool)


def with_figure(room: np.ndarray, figure: tuple[np.ndarray, np.ndarray], dx: int = 0, opacity: float = 1.0) -> np.ndarray:
    picture, mask = (np.roll(plane, dx, axis=1) for plane in figure)
    return np.where(mask[..., None], opacity * picture + (1 - opacity) * room, room).astype(np.float32)


def test_light_is_the_factor_by_which_the_background_was_dimmed(room):
    factors = np.array([0.6, 0.7, 0.9], np.float32)
    gain = measures.channel_gain(pair_of(room, room * factors, NOBODY))
    assert gain == pytest.approx(factors, abs=0.01)
    assert measures.relit(room * factors, gain) == pytest.approx(room, abs=0.02)


def test_detail_and_saturation_follow_sharpening_and_colour(room):
    sharp = np.clip(room + 1.5 * (room - cv2.GaussianBlur(room, (0, 0), 1.0)), 0, 1)
    assert measures.detail_gain(pair_of(room, sharp, NOBODY), sharp) > 1.5
    assert measures.detail_gain(pair_of(room, room, NOBODY), room) == pytest.approx(1.0)
    grey = np.repeat(room.mean(axis=2, keepdims=True), 3, axis=2)
    assert measures.saturation_gain(pair_of(room, 0.5 * room + 0.5 * grey, NOBODY)) < 0.7


def test_a_bend_is_found_and_a_homography_is_not(room):
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    bent = cv2.remap(room, x + 7 * np.sin(y / 20), y + 7 * np.sin(x / 25), cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    shifted = cv2.warpPerspective(
        room, np.array([[1, 0, 4.0], [0, 1, -3.0], [0, 0, 1]]), (WIDTH, HEIGHT), borderMode=cv2.BORDER_REFLECT
    )
    for late, low, high in ((bent, 0.008, 0.05), (shifted, 0.0, 0.004)):
        pair = pair_of(room, late, NOBODY)
        _, left = measures.rigid_part(pair, measures.residual_flow(pair, late))
        assert low <= left <= high


def test_a_new_world_correlates_nowhere_and_keeps_few_colours(room):
    other = np.ascontiguousarray(np.rot90(room, 2))[..., ::-1] ** 2
    pair = pair_of(room, np.ascontiguousarray(other), NOBODY)
    assert (measures.block_correlation(pair, pair.late, pair.background) < 0.5).mean() > 0.9
    assert measures.palette_kept(pair, pair.late) < 0.5
    same = pair_of(room, room, NOBODY)
    assert measures.block_correlation(same, room, same.background).min() > 0.999
    assert measures.palette_kept(same, room) == pytest.approx(1.0)


def test_structure_on_what_was_plain_is_another_world(room):
    plain = pair_of(np.full_like(room, 0.4), room, NOBODY)
    found = measures.block_correlation(plain, room, plain.background)
    assert len(found) > 100 and found.max() < 0.5


@pytest.mark.parametrize("weight", [0.0, 0.2, 0.5])
def test_an_echo_weighs_what_was_mixed_in(room, weight):
    earlier = np.roll(room, 40, axis=1)
    late = ((1 - weight) * room + weight * earlier).astype(np.float32)
    assert measures.echo_weight(pair_of(room, late, NOBODY), late, earlier) == pytest.approx(weight, abs=0.03)


def test_an_echo_of_the_same_view_is_not_judged(room):
    assert np.isnan(measures.echo_weight(pair_of(room, room, NOBODY), room, room))


def test_a_clip_that_stands_still_is_not_its_own_echo(room):
    """The ground truth shows another view, and the clip shows the same picture as some frames before: nothing echoes."""
    truth = np.roll(room, 40, axis=1)
    assert np.isnan(measures.echo_weight(pair_of(truth, room, NOBODY), room, room))


@pytest.mark.parametrize("opacity", [1.0, 0.5, 0.0])
def test_a_faded_subject_keeps_its_outlines_at_its_opacity(room, figure, opacity):
    flat = np.full_like(room, 0.4)
    pair = pair_of(with_figure(flat, figure), with_figure(flat, figure, opacity=opacity), figure[1])
    terms = measures.subject_terms(pair, pair.late)
    assert terms["subject_strength"] == pytest.approx(opacity, abs=0.02)
    if opacity:
        assert terms["subject_structure"] > 0.99


def test_a_subject_that_is_out_of_view_for_the_larger_part_is_not_compared(room, figure):
    pair = pair_of(with_figure(room, figure), with_figure(room, figure), figure[1])
    left = np.arange(WIDTH) < 100  # the disc reaches from 78 to 142
    assert measures.subject_terms(pair, pair.late)
    assert measures.subject_terms(replace(pair, valid=np.broadcast_to(left, NOBODY.shape)), pair.late) == {}


def test_colours_tell_gone_from_moved_and_doubled(room, figure):
    before = with_figure(room, figure)
    mask = figure[1]
    gone, moved, doubled = room, with_figure(room, figure, dx=110), with_figure(before, figure, dx=110)
    terms = [measures.palette_terms(pair_of(before, late, mask), late) for late in (gone, moved, doubled)]
    assert [round(term["own_colour"]) for term in terms] == [0, 1, 2]
    assert [round(term["own_colour_here"]) for term in terms] == [0, 0, 1]
    assert terms[0]["like_surroundings"] > 0.9 > 0.5 > terms[0]["like_surroundings_before"]


def test_a_twin_is_found_a_second_time(room, figure):
    before, mask = with_figure(room, figure), figure[1]
    twin = with_figure(before, figure, dx=112)
    assert measures.change_terms(pair_of(before, twin, mask), twin)["second_copy"] > 0.9
    assert "second_copy" not in measures.change_terms(pair_of(before, before, mask), before)


def test_what_looked_like_the_subject_before_is_no_copy(room, figure):
    """Two of a kind from the start, and something else appears."""
    before, mask = with_figure(with_figure(room, figure), figure, dx=112), figure[1]
    late = before.copy()
    late[20:70, 20:70] = np.random.default_rng(0).random((50, 50, 3))
    assert measures.change_terms(pair_of(before, late, mask), late).get("second_copy", 0.0) < 0.5


def test_background_that_the_late_mask_took_along_is_not_searched_for(figure):
    """The subject moved aside, and its mask holds a piece of the edge between a wall and a floor, which runs on to both sides."""
    room = np.full((HEIGHT, WIDTH, 3), 0.75, np.float32)
    room[HEIGHT * 2 // 3 :] = 0.2
    room += np.random.default_rng(0).normal(0, 0.01, room.shape).astype(np.float32)
    before, late = with_figure(room, figure), with_figure(room, figure, dx=80)
    there = np.roll(figure[1], 80, axis=1)
    columns = np.nonzero(there)[1]
    there[HEIGHT // 2 :, columns.min() : columns.max()] = True
    assert "second_copy" not in measures.change_terms(pair_of(before, late, figure[1], there), late)


def test_background_in_the_late_mask_is_not_searched_for_although_a_new_place_looks_like_it(room, figure):
    before = with_figure(room, figure)
    wall, window = np.s_[10:70, 10:70], np.s_[10:70, 220:280]
    before[window] = 0.0
    late, there = before.copy(), NOBODY.copy()
    late[window] = before[wall]
    there[wall] = True
    assert "second_copy" not in measures.change_terms(pair_of(before, late, figure[1], there), late)


def test_progress_of_an_event_between_before_and_truth(room, figure):
    before, truth = room, with_figure(room, figure)
    everywhere = np.ones(figure[1].shape, bool)
    for late, progress in ((before, 0.0), (truth, 1.0), (0.5 * before + 0.5 * truth, 0.5)):
        terms = measures.truth_terms(
            pair_of(truth, late.astype(np.float32), figure[1]), late.astype(np.float32), before, everywhere
        )
        assert terms["event_progress"] == pytest.approx(progress, abs=0.01)
    elsewhere = with_figure(room, figure, dx=110)
    assert measures.truth_terms(pair_of(truth, elsewhere, figure[1]), elsewhere, before, everywhere)["outside_event"] > 0.4
    beside = with_figure(room, figure, dx=3)
    assert measures.truth_terms(pair_of(truth, beside, figure[1]), beside, before, everywhere)["outside_event"] < 0.01


def test_a_turned_view_is_brought_back(room):
    intrinsics = np.array([[277.0, 0, 160], [0, 277.0, 96], [0, 0, 1]])
    angle = np.radians(6)
    turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    matrix = rotation_homography(intrinsics, turn)
    picture = (room * 255).astype(np.uint8)
    late = cv2.warpPerspective(picture, np.linalg.inv(matrix), (WIDTH, HEIGHT))
    pair = align(picture, late, NOBODY, NOBODY, matrix)
    inner = cv2.erode(pair.valid.astype(np.uint8), np.ones((9, 9), np.uint8)).astype(bool)
    assert inner.mean() > 0.7
    assert np.abs(pair.late - as_float(picture))[inner].mean() < 0.03


def test_a_path_known_at_some_frames_is_filled_in_between():
    yaws = np.linspace(0, 40, 41)
    sparse = make_path(yaws).c2w[::4]
    filled = made_artifacts.poses(sparse, frame_index=np.arange(0, 41, 4)).per_frame(41)
    assert yaw_deg(filled.c2w) == pytest.approx(yaws, abs=1e-6)
    assert len(filled.intrinsics) == 41
    assert filled.per_frame(41) is filled
