"""Camera controllability against the spec's reference vectors and scipy's rotation magnitude."""

from __future__ import annotations

import numpy as np
import pytest
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.metrics.functional import camera_controllability, camera_errors, inactivity_gate, passes_motion_gate
from scipy.spatial.transform import Rotation


def out_and_back(peak: float) -> np.ndarray:
    """81 frames, the peak in the middle one."""
    return from_yaw_pitch_roll(np.concatenate([np.linspace(0, peak, 41), np.linspace(peak, 0, 41)[1:]]))


LINE = np.linspace(0.0, 1.0, 81)


@pytest.mark.parametrize(
    ("truth", "estimate", "expected"),
    [
        (from_yaw_pitch_roll(180 * LINE), from_yaw_pitch_roll(180 * LINE), 1.0),
        (from_yaw_pitch_roll(180 * LINE), from_yaw_pitch_roll(0 * LINE), 0.4208),
        (out_and_back(60), out_and_back(50), 0.4261),
        (out_and_back(60), out_and_back(58), 0.8852),
        (from_yaw_pitch_roll(90 * LINE), from_yaw_pitch_roll(90 * LINE, 10 * LINE), 0.9356),
    ],
    ids=["perfect", "static on a 180 deg turn", "50 of 60 deg", "58 of 60 deg", "10 deg pitch drift"],
)
def test_reference_vectors(truth: np.ndarray, estimate: np.ndarray, expected: float) -> None:
    assert camera_controllability(truth, estimate) == pytest.approx(expected, abs=5e-5)


def test_error_of_a_static_camera_on_a_u_turn() -> None:
    parts = camera_errors(from_yaw_pitch_roll(180 * LINE), from_yaw_pitch_roll(0 * LINE))
    assert parts["e_rot_deg"] == pytest.approx(104.25, abs=0.005)
    assert parts["theta_gt_deg"] == pytest.approx(180.0)


def test_error_is_the_rms_of_scipy_s_rotation_magnitude(rng: np.random.Generator) -> None:
    truth, estimate = (np.tile(np.eye(4), (9, 1, 1)) for _ in range(2))
    truth[:, :3, :3], estimate[:, :3, :3] = Rotation.random(9, rng=rng).as_matrix(), Rotation.random(9, rng=rng).as_matrix()
    aligned = [truth[0, :3, :3] @ estimate[0, :3, :3].T @ pose[:3, :3] for pose in estimate]
    angles = [
        np.degrees((Rotation.from_matrix(t[:3, :3]).inv() * Rotation.from_matrix(a)).magnitude())
        for t, a in zip(truth, aligned, strict=True)
    ]
    assert camera_errors(truth, estimate)["e_rot_deg"] == pytest.approx(np.sqrt(np.mean(np.square(angles))), rel=1e-9)


def test_the_estimator_s_own_axes_do_not_matter(rng: np.random.Generator) -> None:
    truth = out_and_back(60)
    elsewhere = np.eye(4)
    elsewhere[:3, :3], elsewhere[:3, 3] = Rotation.random(rng=rng).as_matrix(), [3.0, -2.0, 9.0]
    assert camera_controllability(truth, elsewhere @ out_and_back(50)) == pytest.approx(
        camera_controllability(truth, out_and_back(50))
    )


def test_inactivity_gate_exposes_a_static_camera() -> None:
    truth = out_and_back(60)
    assert inactivity_gate(truth, from_yaw_pitch_roll(0 * LINE)) == pytest.approx(
        {"rotation_deg": 0.0, "gt_rotation_deg": 120.0, "share": 0.0, "active": 0.0}
    )
    assert inactivity_gate(truth, out_and_back(50))["share"] == pytest.approx(50 / 60)
    assert inactivity_gate(truth, out_and_back(50))["active"] == 1.0


def test_motion_gate_takes_the_angle_from_the_first_frame_to_the_last() -> None:
    """As the released column TotalGT_RotDeg; tests/parity compares with the program itself."""
    assert passes_motion_gate(from_yaw_pitch_roll(90 * LINE))
    assert not passes_motion_gate(from_yaw_pitch_roll(89.9 * LINE))
    assert not passes_motion_gate(out_and_back(120))
