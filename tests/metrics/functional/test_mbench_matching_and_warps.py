"""Correspondences and warps on pictures whose motion is known by construction."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import torch
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.measures.geometry import flow_warp
from lookback.metrics.functional import depth_warp, homography_warp, match_sift

K = np.array([[400.0, 0.0, 255.5], [0.0, 400.0, 255.5], [0.0, 0.0, 1.0]])
TILT = np.array([[0.98, -0.06, 25.0], [0.05, 1.02, -12.0], [4e-5, -3e-5, 1.0]])


def test_sift_matches_follow_a_known_homography(photo: np.ndarray) -> None:
    moved = cv2.warpPerspective(photo, TILT, (512, 512))
    points_i, points_j = match_sift(photo, moved)
    truth = cv2.perspectiveTransform(points_i.reshape(-1, 1, 2), TILT)[:, 0]
    error = np.linalg.norm(points_j - truth, axis=1)
    assert len(points_i) > 200
    assert np.median(error) < 0.3
    assert (error < 2.0).mean() > 0.97


def test_sift_matches_are_the_same_both_ways_and_counted_once(photo: np.ndarray) -> None:
    points_i, points_j = match_sift(photo, cv2.warpPerspective(photo, TILT, (512, 512)))
    forth = {*zip(map(tuple, points_i), map(tuple, points_j), strict=True)}
    assert len(forth) == len(points_i)
    back_j, back_i = match_sift(cv2.warpPerspective(photo, TILT, (512, 512)), photo)
    assert forth == {*zip(map(tuple, back_i), map(tuple, back_j), strict=True)}


def test_sift_respects_the_mask(photo: np.ndarray) -> None:
    mask = np.zeros(photo.shape[:2], np.uint8)
    mask[100:300, 100:300] = 1
    points_i, _ = match_sift(photo, photo, mask_i=mask)
    assert len(points_i) > 20
    assert points_i.min() >= 99
    assert points_i.max() <= 301


def test_a_blank_picture_has_no_matches(photo: np.ndarray) -> None:
    points_i, points_j = match_sift(np.zeros_like(photo), photo)
    assert points_i.shape == points_j.shape == (0, 2)


class TestDepthWarp:
    """A textured wall at depth 4, seen by a camera that slides and turns: the exact view is a homography."""

    DEPTH = 4.0

    def view(self, photo: np.ndarray, pose: np.ndarray) -> np.ndarray:
        """The wall seen from `pose`: plane-induced homography K (R + t n^T / d) K^-1 (Hartley and Zisserman, section 13.1)."""
        w2c = np.linalg.inv(pose)
        plane = w2c[:3, :3] + np.outer(w2c[:3, 3], [0.0, 0.0, 1.0]) / self.DEPTH
        return cv2.warpPerspective(photo, K @ plane @ np.linalg.inv(K), (512, 512), flags=cv2.INTER_CUBIC)

    @pytest.mark.parametrize(
        "pose", [from_yaw_pitch_roll(0.0, position=(0.3, 0.1, 0.2)), from_yaw_pitch_roll(6.0, -3.0, 2.0, (0.2, -0.1, 0.4))]
    )
    def test_brings_the_return_frame_into_the_forward_view(self, photo: np.ndarray, pose: np.ndarray) -> None:
        smooth = cv2.GaussianBlur(photo, (0, 0), 2.0)
        warped, valid = depth_warp(self.view(smooth, pose), np.full((512, 512), self.DEPTH), K, K, np.eye(4), pose)
        inside = cv2.erode(valid.astype(np.uint8), np.ones((9, 9))).astype(bool)
        assert inside.mean() > 0.7
        assert np.abs(warped.astype(float) - smooth)[inside].mean() < 1.0

    def test_pixels_that_land_outside_or_behind_are_invalid(self, photo: np.ndarray) -> None:
        _, aside = depth_warp(photo, np.full((512, 512), 4.0), K, K, np.eye(4), from_yaw_pitch_roll(0.0, position=(1.0, 0.0, 0.0)))
        # a shift of 400 * 1 / 4 = 100 px leaves the 100 leftmost columns without a source
        assert aside[256].sum() == 412
        _, behind = depth_warp(photo, np.full((512, 512), 4.0), K, K, np.eye(4), from_yaw_pitch_roll(180.0))
        assert not behind.any()

    def test_unknown_depth_is_invalid(self, photo: np.ndarray) -> None:
        depth = np.full((512, 512), 4.0)
        depth[:10], depth[10:20] = np.nan, 0.0
        _, valid = depth_warp(photo, depth, K, K, np.eye(4), np.eye(4))
        assert not valid[:20].any()
        assert valid[20:].all()

    def test_unknown_depth_is_invalid_also_where_the_camera_itself_is_in_view(self, photo: np.ndarray) -> None:
        depth = np.full((512, 512), 4.0)
        depth[100, 100] = 0.0
        _, valid = depth_warp(photo, depth, K, K, np.eye(4), from_yaw_pitch_roll(0.0, position=(0.0, 0.0, -1.0)))
        assert valid[200, 200] and not valid[100, 100]

    def test_a_pixel_hidden_in_the_other_view_is_invalid(self, photo: np.ndarray) -> None:
        far, near = np.full((512, 512), 4.0), np.full((512, 512), 4.0)
        near[100:200, 100:200] = 2.0
        _, valid = depth_warp(photo, far, K, K, np.eye(4), np.eye(4), depth_j=near)
        assert not valid[101:199, 101:199].any()
        assert valid[:90].all()


def test_homography_warp_undoes_a_known_homography(photo: np.ndarray, rng: np.random.Generator) -> None:
    smooth = cv2.GaussianBlur(photo, (0, 0), 2.0)
    moved = cv2.warpPerspective(smooth, TILT, (512, 512), flags=cv2.INTER_CUBIC)
    points_i = rng.uniform(60, 450, size=(60, 2))
    points_j = cv2.perspectiveTransform(points_i.reshape(-1, 1, 2), TILT)[:, 0]
    points_j[:15] += 40.0  # outliers
    warped, valid = homography_warp(moved, points_i, points_j, (512, 512))
    inside = cv2.erode(valid.astype(np.uint8), np.ones((9, 9))).astype(bool)
    assert inside.mean() > 0.8
    assert np.abs(warped.astype(float) - smooth)[inside].mean() < 1.0


def test_flow_warp_is_torch_s_grid_sample(rng: np.random.Generator) -> None:
    image, flow = rng.random((24, 31, 3)).astype(np.float32), rng.normal(0, 4, (24, 31, 2)).astype(np.float32)
    y, x = np.mgrid[0:24, 0:31]
    grid = torch.from_numpy(np.stack([(x + flow[..., 0]) / 30 * 2 - 1, (y + flow[..., 1]) / 23 * 2 - 1], -1).astype(np.float32))[
        None
    ]
    tensor = torch.from_numpy(image).permute(2, 0, 1)[None]
    expected = torch.nn.functional.grid_sample(tensor, grid, mode="bilinear", padding_mode="border", align_corners=True)
    # OpenCV interpolates at 1/32 px: up to 1/64 px of a unit step
    np.testing.assert_allclose(flow_warp(image, flow), expected[0].permute(1, 2, 0).numpy(), atol=0.035)
