"""Environment consistency against OpenCV's epipolar and triangulation routines, scikit-image's CIELAB and torch's Gram product."""

from __future__ import annotations

from itertools import pairwise

import cv2
import numpy as np
import pytest
import torch
from lookback.camera.poses import from_yaw_pitch_roll, inverse, look_at
from lookback.metrics.functional import (
    epipolar_error,
    epipolar_score,
    fundamental_from_poses,
    gram_matrix,
    lighting_deviation,
    lighting_score,
    reprojection_error,
    reprojection_score,
    style_consistency,
)
from skimage.color import rgb2lab

K = np.array([[500.0, 0.0, 320.0], [0.0, 510.0, 240.0], [0.0, 0.0, 1.0]])
K_OTHER = np.array([[420.0, 0.0, 300.0], [0.0, 430.0, 250.0], [0.0, 0.0, 1.0]])


class Scene:
    """Random points in front of two cameras, with exact projections."""

    def __init__(self, rng: np.random.Generator, n: int = 40):
        self.pose_i = look_at([0.0, 0.0, 0.0], [0.0, 0.0, 5.0])
        self.pose_j = look_at([0.8, -0.1, 0.3], [0.1, 0.2, 5.0])
        self.world = rng.uniform([-1.5, -1.0, 4.0], [1.5, 1.0, 7.0], size=(n, 3))
        self.points_i, self.points_j = self._project(self.pose_i, K), self._project(self.pose_j, K_OTHER)

    def _project(self, pose: np.ndarray, intrinsics: np.ndarray) -> np.ndarray:
        w2c = inverse(pose)
        return cv2.projectPoints(self.world, cv2.Rodrigues(w2c[:3, :3])[0], w2c[:3, 3], intrinsics, None)[0][:, 0]


@pytest.fixture
def scene(rng: np.random.Generator) -> Scene:
    return Scene(rng)


class TestEpipolar:
    def test_exact_matches_have_no_error(self, scene: Scene) -> None:
        fundamental = fundamental_from_poses(K, K_OTHER, scene.pose_i, scene.pose_j)
        error = epipolar_error(scene.points_i, scene.points_j, fundamental)
        assert error < 1e-9
        assert epipolar_score(error) == pytest.approx(1.0)

    def test_fundamental_matrix_is_opencv_s_eight_point_estimate(self, scene: Scene) -> None:
        ours = fundamental_from_poses(K, K_OTHER, scene.pose_i, scene.pose_j)
        estimate, _ = cv2.findFundamentalMat(scene.points_i, scene.points_j, cv2.FM_8POINT)
        ours, estimate = ours / np.linalg.norm(ours), estimate / np.linalg.norm(estimate)
        assert min(np.abs(ours - estimate).max(), np.abs(ours + estimate).max()) < 1e-6

    def test_distances_are_those_to_opencv_s_epipolar_lines(self, scene: Scene, rng: np.random.Generator) -> None:
        fundamental = fundamental_from_poses(K, K_OTHER, scene.pose_i, scene.pose_j)
        points_i, points_j = (points + rng.normal(0, 2, points.shape) for points in (scene.points_i, scene.points_j))
        lines_j = cv2.computeCorrespondEpilines(points_i.reshape(-1, 1, 2), 1, fundamental)[:, 0]  # unit normals
        lines_i = cv2.computeCorrespondEpilines(points_j.reshape(-1, 1, 2), 2, fundamental)[:, 0]
        total = sum(
            abs(line @ [*point, 1.0])
            for lines, points in ((lines_i, points_i), (lines_j, points_j))
            for line, point in zip(lines, points, strict=True)
        )
        assert epipolar_error(points_i, points_j, fundamental) == pytest.approx(total / (2 * len(points_i)), rel=1e-6)

    def test_sideways_motion_by_hand(self) -> None:
        # a camera that slides along x has horizontal epipolar lines: a vertical slip of 3 px is an error of 3 px
        fundamental = fundamental_from_poses(K, K, np.eye(4), from_yaw_pitch_roll(0.0, position=(1.0, 0.0, 0.0)))
        points = np.column_stack([np.linspace(50, 400, 10), np.linspace(60, 300, 10)])
        assert epipolar_error(points, points + np.array([-20.0, 3.0]), fundamental) == pytest.approx(3.0, abs=1e-9)

    def test_score_of_the_readme_s_example(self) -> None:
        """MBench's README: score_raw 2.964 has score 0.5523, which exp(-E/5) gives and the paper's exp(-E) does not."""
        assert epipolar_score(2.964, tau=5) == pytest.approx(0.5523, abs=1e-3)
        assert epipolar_score(2.964) == pytest.approx(np.exp(-2.964))


class TestReprojection:
    def test_exact_matches_have_no_error(self, scene: Scene) -> None:
        error = reprojection_error(scene.points_i, scene.points_j, np.stack([K, K_OTHER]), scene.pose_i, scene.pose_j)
        assert error < 1e-8
        assert reprojection_score(error) == pytest.approx(1.0)

    def test_noisy_matches_agree_with_opencv_s_triangulation(self, scene: Scene, rng: np.random.Generator) -> None:
        points_i, points_j = (points + rng.normal(0, 0.7, points.shape) for points in (scene.points_i, scene.points_j))
        rays_i, rays_j = (cv2.undistortPoints(p.reshape(-1, 1, 2), k, None)[:, 0] for p, k in ((points_i, K), (points_j, K_OTHER)))
        w2c_i, w2c_j = inverse(scene.pose_i), inverse(scene.pose_j)
        world = cv2.triangulatePoints(w2c_i[:3], w2c_j[:3], rays_i.T, rays_j.T)
        world = (world[:3] / world[3]).T
        expected = 0.0
        for w2c, intrinsics, points in ((w2c_i, K, points_i), (w2c_j, K_OTHER, points_j)):
            again = cv2.projectPoints(world, cv2.Rodrigues(w2c[:3, :3])[0], w2c[:3, 3], intrinsics, None)[0][:, 0]
            expected += np.linalg.norm(again - points, axis=1).mean() / 2
        ours = reprojection_error(points_i, points_j, np.stack([K, K_OTHER]), scene.pose_i, scene.pose_j)
        assert ours == pytest.approx(expected, rel=1e-3)

    def test_grows_with_the_scene_s_change(self, scene: Scene, rng: np.random.Generator) -> None:
        slip = rng.normal(0, 1, scene.points_j.shape)
        errors = [
            reprojection_error(scene.points_i, scene.points_j + s * slip, np.stack([K, K_OTHER]), scene.pose_i, scene.pose_j)
            for s in (0.0, 0.5, 2.0, 8.0)
        ]
        assert all(a < b for a, b in pairwise(errors))

    def test_a_turning_camera_without_parallax_still_has_an_error(self, rng: np.random.Generator) -> None:
        """Seen from one place, points are directions: the exact pair has error 0, a slip of d px in one frame about d/2 in each."""
        pose = from_yaw_pitch_roll(8.0)
        points = rng.uniform([150, 100], [450, 380], size=(20, 2))
        rays = np.column_stack([points, np.ones(20)]) @ np.linalg.inv(K).T @ pose[:3, :3]
        other = rays @ K.T
        other = other[:, :2] / other[:, 2:]
        assert reprojection_error(points, other, K, np.eye(4), pose) < 1e-9
        assert reprojection_error(points, other + np.array([4.0, 0.0]), K, np.eye(4), pose) == pytest.approx(2.0, rel=0.1)


class TestLighting:
    def test_is_the_difference_of_scikit_image_s_lab_means(self, photo: np.ndarray) -> None:
        first, second = np.stack([photo, photo[::-1]]), np.stack([(photo * [0.8, 0.9, 1.0]).astype(np.uint8)] * 3)
        lab_i, lab_j = (np.mean([rgb2lab(frame).mean(axis=(0, 1)) for frame in frames], axis=0) for frames in (first, second))
        expected = 0.3 * abs(lab_i[0] - lab_j[0]) + 0.7 * np.linalg.norm(lab_i[1:] - lab_j[1:])
        assert lighting_deviation(first, second, 0.3) == pytest.approx(expected, abs=0.005)

    def test_grey_levels_by_hand(self) -> None:
        # CIELAB lightness of sRGB grey 119/255 is 50.03, of white 100; grey has no colour
        grey, white = np.full((1, 8, 8, 3), 119, np.uint8), np.full((1, 8, 8, 3), 255, np.uint8)
        assert lighting_deviation(grey, white, 1.0) == pytest.approx(49.97, abs=0.01)
        assert lighting_deviation(grey, white, 0.0) == pytest.approx(0.0, abs=0.01)

    def test_score_is_one_over_e_at_tau(self) -> None:
        assert lighting_score(10.0) == pytest.approx(np.exp(-1.0))


class TestStyle:
    def test_gram_matrix_is_torch_s_product(self, rng: np.random.Generator) -> None:
        features = rng.normal(size=(6, 5, 7))
        tensor = torch.from_numpy(features)
        expected = torch.einsum("chw,dhw->cd", tensor, tensor) / tensor.numel()
        np.testing.assert_allclose(gram_matrix(features), expected.numpy(), atol=1e-14)

    def test_is_one_minus_the_mean_frobenius_distance(self, rng: np.random.Generator) -> None:
        grams = 0.02 * rng.normal(size=(5, 8, 8))
        distances = [torch.linalg.matrix_norm(torch.from_numpy(b - a)).item() for a, b in pairwise(grams)]
        assert style_consistency(grams) == pytest.approx(1.0 - np.mean(distances), abs=1e-12)
        assert style_consistency(100.0 * grams) == 0.0
        assert style_consistency(np.stack([grams[0]] * 3)) == 1.0
