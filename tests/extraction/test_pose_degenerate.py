"""Tracks that determine no camera: each costs its own clip a typed reason or a held path, never a crash of a solver."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from lookback.backends.pose.classical import backend
from lookback.backends.pose.classical.focal import estimate_focal
from lookback.backends.pose.classical.rotation import fit_rotation, newton_step
from lookback.backends.pose.classical.selection import Candidate, choose_model
from lookback.backends.pose.classical.solve import solve_path
from lookback.backends.pose.classical.structure import solve_structure
from lookback.backends.pose.classical.tracking import PointTracker, Segment
from lookback.errors import NotScorable, Reason
from lookback.store import Entry

FOCAL, CENTRE, N = 277.0, np.array([159.5, 89.5]), 48
LINE = np.linspace(-1, 1, N)
POINTS = {
    "one place": np.tile([100.0, 60.0], (N, 1)),
    "the centre": np.tile(CENTRE, (N, 1)),
    "a line through the centre": CENTRE + np.outer(LINE, [100.0, 0.0]),
    "a line": CENTRE + np.outer(LINE, [140.0, 0.0]) - [0.0, 50.0],
    "two places": np.where(np.arange(N)[:, None] % 2, [[10.0, 10.0]], [[300.0, 170.0]]),
    "spread": np.random.default_rng(0).uniform([8, 8], [312, 172], (N, 2)),
}
MOVES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identical": lambda points: points,
    "noise": lambda points: np.random.default_rng(1).uniform([8, 8], [312, 172], points.shape),
    "collapsed": lambda points: np.tile(points[:1], (len(points), 1)),
    "turned over": lambda points: 2 * CENTRE - points,
    "far out": lambda points: CENTRE + 1e6 * (points - CENTRE),
}
cases = pytest.mark.parametrize(("points", "moved"), [(p, m) for p in POINTS for m in MOVES])


def tracker_of(points: np.ndarray, moved: np.ndarray, lost: bool = False) -> PointTracker:
    """Five frames in which the points go evenly to where they moved, or are lost at once."""
    tracker = PointTracker(320, 180)
    tracker.n_frames = 6
    positions = [(points + (moved - points) * step / 5).astype(np.float32) for step in range(1, 6)]
    if lost:
        positions = [np.full_like(position, np.nan) for position in positions]
    tracker.segments = [Segment(0, points.astype(np.float32), np.full(len(points), -1), False, positions)]
    return tracker


@cases
def test_a_path_of_degenerate_tracks_is_finite(points: str, moved: str) -> None:
    first, second = POINTS[points], MOVES[moved](POINTS[points])
    path = solve_path(tracker_of(first, second), FOCAL, CENTRE, 60.0, True, 0)
    assert np.isfinite(path.rotation).all() and np.isfinite(path.position).all()
    assert np.allclose(np.linalg.det(path.rotation), 1.0)


@cases
def test_each_solver_takes_degenerate_points(points: str, moved: str) -> None:
    first, second = POINTS[points].astype(np.float32), MOVES[moved](POINTS[points]).astype(np.float32)
    fit = fit_rotation(first, second, FOCAL, CENTRE, np.random.default_rng(0))
    assert np.isfinite(fit.rotation).all()
    starts = [*choose_model(first, second, fit.error, FOCAL, CENTRE), Candidate("essential", np.eye(3), np.array([0.0, 0.0, 1.0]))]
    tracks = np.stack([first + (second - first) * step / 4 for step in range(1, 5)])
    for start in starts:
        structure = solve_structure(first, tracks, 3, start, FOCAL, CENTRE)
        assert np.isfinite(structure.rotation).all() and np.isfinite(structure.translation).all()
    focal = estimate_focal([(first, second)] * 3, 320, CENTRE, 0)
    assert focal is None or 50 < focal < 2000


def test_points_that_fly_off_along_a_line_leave_a_finite_structure() -> None:
    first = CENTRE + np.outer(np.linspace(-100, 100, 8), [1.0, 0.0])
    tracks = np.stack([first + (MOVES["far out"](first) - first) * step / 4 for step in range(1, 5)])
    structure = solve_structure(first, tracks, 3, Candidate("essential", np.eye(3), np.array([1.0, 0.0, 0.0])), FOCAL, CENTRE)
    assert np.isfinite(structure.rotation).all() and np.isfinite(structure.translation).all()


def test_a_system_without_an_answer_takes_no_step() -> None:
    singular = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert not newton_step(singular, np.ones(3)).any()
    assert not newton_step(np.full((3, 3), np.nan), np.ones(3)).any()
    assert newton_step(2 * np.eye(3), np.ones(3)) == pytest.approx([-0.5, -0.5, -0.5])


def test_tracks_that_are_lost_at_once_hold_the_camera() -> None:
    path = solve_path(tracker_of(POINTS["spread"], POINTS["spread"], lost=True), FOCAL, CENTRE, 60.0, True, 0)
    assert np.allclose(path.rotation, np.eye(3)) and not path.quality[1:].any()


@pytest.mark.parametrize("problem", [np.linalg.LinAlgError("Singular matrix"), backend.cv2.error("no model")])
def test_a_solver_that_finds_no_answer_is_the_clip_s_reason(
    monkeypatch: pytest.MonkeyPatch, estimate_pose: Callable[..., Entry], problem: Exception
) -> None:
    def fails(*_: object) -> None:
        raise problem

    monkeypatch.setattr(backend, "solve_path", fails)
    with pytest.raises(NotScorable, match="determine no camera path") as error:
        estimate_pose(noise_frames())
    assert error.value.reason is Reason.UNDEFINED


def noise_frames(n: int = 6) -> np.ndarray:
    return np.random.default_rng(2).integers(0, 256, (n, 120, 160, 3), dtype=np.uint8)


@pytest.mark.parametrize(
    ("frames", "reason"),
    [(noise_frames(1), Reason.TOO_SHORT), (np.full((6, 120, 160, 3), 90, np.uint8), Reason.LOW_TEXTURE)],
)
def test_clips_without_a_camera_path_say_why(estimate_pose: Callable[..., Entry], frames: np.ndarray, reason: Reason) -> None:
    with pytest.raises(NotScorable) as error:
        estimate_pose(frames)
    assert error.value.reason is reason


def test_identical_frames_and_pure_noise_give_a_finite_path(estimate_pose: Callable[..., Entry]) -> None:
    still = estimate_pose(np.repeat(noise_frames(1), 6, axis=0), fov_deg=None)
    assert still.record["total_rotation_deg"] == 0
    assert np.isfinite(estimate_pose(noise_frames(8), fov_deg=None).c2w).all()
