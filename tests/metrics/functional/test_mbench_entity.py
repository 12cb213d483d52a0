"""Entity consistency against scipy's cosine distance and scikit-image's SSIM map."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from lookback.metrics.functional import centroid_consistency, masked_ssim_warp, track_identities, tracks_consistency
from scipy.spatial.distance import cdist
from skimage.metrics import structural_similarity


def test_centroid_consistency_is_scipy_s_cosine_to_the_mean(rng: np.random.Generator) -> None:
    features = rng.normal(size=(17, 64)) + 1.5
    expected = 1.0 - cdist(features, features.mean(axis=0, keepdims=True), "cosine").mean()
    assert centroid_consistency(features) == pytest.approx(expected, abs=1e-12)


def test_centroid_consistency_of_two_directions_by_hand() -> None:
    # the centroid of (1,0) and (0,1) lies at 45 deg from both
    assert centroid_consistency([[1.0, 0.0], [0.0, 1.0]]) == pytest.approx(np.sqrt(0.5))


def test_drift_lowers_the_score_monotonically(rng: np.random.Generator) -> None:
    base, other = rng.normal(size=(2, 32))
    scores = [centroid_consistency([base, base, base + drift * other]) for drift in (0.0, 0.3, 0.8, 2.0)]
    assert scores[0] == pytest.approx(1.0)
    assert all(a > b for a, b in pairwise(scores))


def test_tracks_average_over_people_not_over_detections() -> None:
    steady, torn = np.tile([1.0, 0.0], (9, 1)), np.array([[1.0, 0.0], [0.0, 1.0]])
    assert tracks_consistency([steady, torn]) == pytest.approx((1.0 + np.sqrt(0.5)) / 2)
    assert tracks_consistency([steady, torn, [[0.0, 3.0]]], min_length=2) == pytest.approx((1.0 + np.sqrt(0.5)) / 2)


class TestTracking:
    """Greedy bipartite matching on scenes with known people."""

    def test_two_people_keep_their_tracks_through_swapped_order_and_an_absence(self, rng: np.random.Generator) -> None:
        anna, ben = np.eye(16)[0], np.eye(16)[1]
        noise = lambda: 0.05 * rng.normal(size=16)  # noqa: E731
        frames = [
            [anna + noise(), ben + noise()],
            [ben + noise(), anna + noise()],
            np.zeros((0, 16)),
            [ben + noise()],
            [anna + noise()],
        ]
        first, second = track_identities(frames)
        assert (first.frames, first.detections) == ([0, 1, 4], [0, 1, 0])
        assert (second.frames, second.detections) == ([0, 1, 3], [1, 0, 0])
        assert first.embeddings.shape == (3, 16)

    def test_a_stranger_opens_a_track(self) -> None:
        assert len(track_identities([[np.eye(4)[0]], [np.eye(4)[1]]])) == 2

    def test_the_threshold_decides(self) -> None:
        near = np.array([0.2, np.sqrt(1 - 0.04), 0.0])  # cosine 0.2 to the first
        assert len(track_identities([[[1.0, 0.0, 0.0]], [near]])) == 1
        assert len(track_identities([[[1.0, 0.0, 0.0]], [near]], threshold=0.25)) == 2

    def test_the_best_pair_is_joined_first(self) -> None:
        track = [1.0, 0.0]
        fair, better = [0.8, 0.6], [0.96, 0.28]
        tracks = track_identities([[track], [fair, better]])
        assert [t.detections for t in tracks] == [[0, 1], [0]]

    def test_the_latest_embedding_may_match_where_the_average_does_not(self) -> None:
        start, latest = np.array([1.0, 0.0, 0.0]), np.array([0.2, 0.98, 0.0])
        follower = np.array([-0.6, 0.8, 0.0])  # cosine 0.67 to the latest, 0.12 to the average
        tracks = track_identities([[start], [latest], [follower]], threshold=0.15)
        assert len(tracks) == 1


class TestMaskedSsim:
    def test_equals_scikit_image_s_map_inside_the_mask(self, photo: np.ndarray, rng: np.random.Generator) -> None:
        mask = np.zeros(photo.shape[:2], bool)
        mask[60:300, 100:340] = True
        other = np.clip(photo + rng.normal(0, 20, photo.shape), 0, 255).astype(np.uint8)
        a, b = (np.where(mask[..., None], x, 0) / 255.0 for x in (photo, other))
        options = {"data_range": 1.0, "channel_axis": -1, "gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}
        _, full = structural_similarity(a, b, full=True, **options)
        assert masked_ssim_warp(photo, other, mask) == pytest.approx(full[mask].mean(), abs=1e-5)

    def test_a_soft_mask_counts_from_one_half_on(self, photo: np.ndarray, rng: np.random.Generator) -> None:
        mask = np.zeros(photo.shape[:2], bool)
        mask[60:300, 100:340] = True
        other = np.clip(photo + rng.normal(0, 20, photo.shape), 0, 255).astype(np.uint8)
        assert masked_ssim_warp(photo, other, np.where(mask, 0.98, 0.01)) == masked_ssim_warp(photo, other, mask)

    def test_is_one_for_the_same_object_whatever_the_background(self, photo: np.ndarray) -> None:
        mask = np.zeros(photo.shape[:2], bool)
        mask[60:300, 100:340] = True
        changed = np.where(mask[..., None], photo, 255 - photo)
        assert masked_ssim_warp(photo, changed, mask) == pytest.approx(1.0, abs=1e-6)

    def test_falls_with_the_object_s_distortion(self, photo: np.ndarray, rng: np.random.Generator) -> None:
        mask = np.zeros(photo.shape[:2], bool)
        mask[60:300, 100:340] = True
        noise = rng.normal(0, 1, photo.shape)
        scores = [masked_ssim_warp(photo, np.clip(photo + s * noise, 0, 255).astype(np.uint8), mask) for s in (0, 10, 30, 80)]
        assert all(a > b for a, b in pairwise(scores))

    def test_pixels_the_warp_cannot_fill_leave_the_mask(self, photo: np.ndarray) -> None:
        mask = np.ones(photo.shape[:2], bool)
        warped = photo.copy()
        warped[:, :256] = 0
        valid = np.zeros_like(mask)
        valid[:, 256 + 5 :] = True
        assert masked_ssim_warp(photo, warped, mask) < 0.8
        assert masked_ssim_warp(photo, warped, mask, valid=valid) > 0.99
