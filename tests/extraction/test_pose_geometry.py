"""The parts of the pose estimator against second libraries and printed formulas."""

from __future__ import annotations

import numpy as np
import pytest
from lookback.backends.pose.classical.rotation import bearings, estimate_focal, fit_rotation, focal_from_fov, project, wahba
from lookback.backends.pose.classical.selection import Candidate, choose_model, gric
from lookback.backends.pose.classical.solve import average_rotations, solve_laplacian
from lookback.backends.pose.classical.structure import solve_structure
from lookback.backends.pose.track import runs, travelled_rotation_deg
from lookback.camera import from_yaw_pitch_roll, rotation_angle_deg, total_rotation_deg
from scipy.spatial.transform import Rotation

WIDTH, HEIGHT, FOCAL = 320, 192, 277.0
CENTRE = np.array([(WIDTH - 1) / 2, (HEIGHT - 1) / 2])


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(3)


def random_pixels(generator: np.random.Generator, n: int) -> np.ndarray:
    return generator.uniform([10, 10], [WIDTH - 10, HEIGHT - 10], (n, 2))


def turned(points: np.ndarray, rotation: np.ndarray, focal: float = FOCAL) -> np.ndarray:
    return project(bearings(points, focal, CENTRE) @ rotation.T, focal, CENTRE)


def test_wahba_equals_scipy_align_vectors(generator: np.random.Generator) -> None:
    first = generator.normal(size=(30, 3))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second = first @ Rotation.from_rotvec([0.2, -0.5, 0.1]).as_matrix().T + generator.normal(0, 0.02, (30, 3))
    second /= np.linalg.norm(second, axis=1, keepdims=True)
    weights = generator.uniform(0.1, 1, 30)
    reference, _ = Rotation.align_vectors(second, first, weights=weights)
    assert rotation_angle_deg(wahba(first, second, weights), reference.as_matrix()) < 1e-6


def test_rotation_ignores_what_moves_by_itself(generator: np.random.Generator) -> None:
    rotation = Rotation.from_euler("yx", [12, 3], degrees=True).as_matrix()
    first = random_pixels(generator, 200)
    second = turned(first, rotation) + generator.normal(0, 0.2, (200, 2))
    second[:80] += [25, -8]  # two fifths of the points belong to something that walks
    fit = fit_rotation(first, second, FOCAL, CENTRE, generator)
    assert rotation_angle_deg(fit.rotation, rotation) < 0.05
    assert not fit.inliers[:80].any() and fit.inliers[80:].mean() > 0.95


def test_gric_is_torrs_formula() -> None:
    error, sigma = np.array([0.0, 0.5, 4.0, 100.0]), 1.0
    # n = 4, r = 4, d = 2: outliers cost 2 (4 - 2) = 4; d n ln r + k ln(r n)
    expected = (0 + 0.5 + 4 + 4) + 2 * 4 * np.log(4) + 8 * np.log(16)
    assert gric(error, 2, 8, sigma) == pytest.approx(expected)


def test_turning_offers_no_motion_and_a_step_through_depth_does(generator: np.random.Generator) -> None:
    first = random_pixels(generator, 150)
    rotation = Rotation.from_euler("y", 10, degrees=True).as_matrix()
    noise = generator.normal(0, 0.15, (150, 2))
    second = turned(first, rotation) + noise
    fit = fit_rotation(first, second, FOCAL, CENTRE, generator)
    assert choose_model(first, second, fit.error, FOCAL, CENTRE) == []

    translation = np.array([0.8, 0.1, 0.3])
    rays = np.concatenate([(first - CENTRE) / FOCAL, np.ones((150, 1))], axis=1)
    scene = rays * generator.uniform(2, 8, (150, 1))
    moved = scene @ rotation.T + translation
    second = moved[:, :2] / moved[:, 2:] * FOCAL + CENTRE + noise
    fit = fit_rotation(first, second, FOCAL, CENTRE, generator)
    best = choose_model(first, second, fit.error, FOCAL, CENTRE)[0]
    assert best.model == "essential"
    assert rotation_angle_deg(best.rotation, rotation) < 1.0
    assert best.translation @ translation / np.linalg.norm(translation) > 0.99


def test_structure_recovers_path_and_depth_up_to_scale(generator: np.random.Generator) -> None:
    first = random_pixels(generator, 120)
    rays = np.concatenate([(first - CENTRE) / FOCAL, np.ones((120, 1))], axis=1)
    depth = generator.uniform(2, 6, 120)
    turns = [Rotation.from_euler("y", angle, degrees=True).as_matrix() for angle in np.linspace(0.5, 8, 20)]
    shifts = np.stack([np.linspace(0.03, 0.6, 20), np.zeros(20), np.linspace(0, 0.2, 20)], axis=1)
    scene = rays * depth[:, None]
    tracks = np.stack(
        [(scene @ turn.T + shift)[:, :2] / (scene @ turn.T + shift)[:, 2:] for turn, shift in zip(turns, shifts, strict=True)]
    )
    tracks = tracks * FOCAL + CENTRE + generator.normal(0, 0.1, tracks.shape)
    tracks[10:, :15] = np.nan  # some tracks end early
    start = Candidate("essential", turns[-1], shifts[-1] / np.linalg.norm(shifts[-1]))
    solved = solve_structure(first, tracks, 19, start, FOCAL, CENTRE)
    assert rotation_angle_deg(solved.rotation, np.array(turns)).max() < 0.4
    scale = np.linalg.norm(shifts[-1])
    assert np.abs(solved.translation * scale - shifts).max() < 0.03
    assert np.nanmedian(np.abs(scale / solved.inverse_depth / depth - 1)) < 0.05


def test_averaging_closes_a_drifting_chain(generator: np.random.Generator) -> None:
    truth = from_yaw_pitch_roll(np.concatenate([np.linspace(0, 60, 20), np.linspace(60, 0, 20)]))[:, :3, :3]
    edges = [(k, k + 1) for k in range(39)]
    drift = Rotation.from_euler("y", 0.2, degrees=True).as_matrix()
    relative = [truth[i].T @ truth[j] @ drift for i, j in edges]
    chain = [np.eye(3)]
    for step in relative:
        chain.append(chain[-1] @ step)
    assert rotation_angle_deg(chain[-1], truth[-1]) > 7
    edges.append((0, 39))
    relative.append(truth[0].T @ truth[39])
    edges.append((5, 20))  # a wrong recognition, far off
    relative.append(Rotation.from_euler("x", 30, degrees=True).as_matrix())
    weights = np.concatenate([np.ones(39), [50.0, 1.0]])
    solved = average_rotations(np.array(chain), np.array(edges), np.array(relative), weights)
    assert rotation_angle_deg(solved[-1], truth[-1]) < 0.3
    assert rotation_angle_deg(solved, truth).max() < 0.4 * rotation_angle_deg(np.array(chain), truth).max() + 2


def test_laplacian_equals_dense_least_squares(generator: np.random.Generator) -> None:
    edges = np.array([(0, 1), (1, 2), (2, 3), (3, 0), (1, 3)])
    difference, weights = generator.normal(size=(5, 3)), generator.uniform(0.5, 2, 5)
    matrix = np.zeros((5, 4))
    matrix[np.arange(5), edges[:, 0]], matrix[np.arange(5), edges[:, 1]] = -1, 1
    root = np.sqrt(weights)[:, None]
    dense = np.linalg.lstsq((matrix * root)[:, 1:], difference * root, rcond=None)[0]
    assert np.allclose(solve_laplacian(4, edges, difference, weights)[1:], dense)


@pytest.mark.parametrize("fov", [40.0, 60.0, 85.0])
def test_focal_length_comes_out_of_turns_and_is_refused_without_them(fov: float, generator: np.random.Generator) -> None:
    focal = focal_from_fov(fov, WIDTH)

    def pairs(angle: float) -> list[tuple[np.ndarray, np.ndarray]]:
        out = []
        for yaw, pitch in ((angle, 0), (-angle, angle / 4), (angle * 0.8, -angle / 3)):
            first = random_pixels(generator, 150)
            second = turned(first, Rotation.from_euler("yx", [yaw, pitch], degrees=True).as_matrix(), focal)
            out.append((first, second + generator.normal(0, 0.15, first.shape)))
        return out

    assert estimate_focal(pairs(0.35 * fov), WIDTH, CENTRE, 0) == pytest.approx(focal, rel=0.03)
    assert estimate_focal(pairs(0.002 * fov), WIDTH, CENTRE, 0) is None


def test_travelled_rotation_counts_the_path_and_not_the_tremble(generator: np.random.Generator) -> None:
    yaw = np.concatenate([np.linspace(0, 30, 41), np.linspace(30, 0, 41)[1:]])
    tremble = generator.normal(0, 0.05, 81)
    assert travelled_rotation_deg(from_yaw_pitch_roll(yaw)) == pytest.approx(60, abs=0.8)
    assert travelled_rotation_deg(from_yaw_pitch_roll(yaw + tremble)) == pytest.approx(60, abs=1.5)
    assert travelled_rotation_deg(from_yaw_pitch_roll(tremble)) == 0
    assert total_rotation_deg(from_yaw_pitch_roll(tremble)) > 2


def test_runs_are_half_open_frame_intervals() -> None:
    assert runs(np.array([1, 1, 0, 1, 0, 0, 1], bool), np.array([0, 1, 2, 3, 4, 5, 9])) == [[0, 2], [3, 4], [9, 10]]
    assert runs(np.zeros(3, bool), np.arange(3)) == []
