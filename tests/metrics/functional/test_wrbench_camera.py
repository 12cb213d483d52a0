"""CamPrec, CamAlign and static hold against the spec's reference vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.metrics.functional import cam_align, cam_prec, camera_precision
from scipy.spatial.transform import Rotation

Profile = Callable[[float], np.ndarray]


class TestCamPrec:
    @pytest.mark.parametrize(("made", "expected"), [(-60.0, 0.9998), (-30.0, 0.7165), (60.0, 0.0), (0.0, 0.0)])
    def test_reference_vectors(self, there_and_back: Profile, made: float, expected: float) -> None:
        """A yaw LR target of 60 deg in 81 frames. The released code gives a perfect copy 0.9998 (acos noise); ours is 1."""
        target = from_yaw_pitch_roll(there_and_back(-60.0))
        assert cam_prec(target, from_yaw_pitch_roll(there_and_back(made)), "yaw_LR") == pytest.approx(expected, abs=2.5e-4)

    def test_half_amplitude_is_15_degrees_off_on_average(self, there_and_back: Profile) -> None:
        parts = camera_precision(from_yaw_pitch_roll(there_and_back(-60.0)), from_yaw_pitch_roll(there_and_back(-30.0)), "yaw_LR")
        assert parts["rotation_deg"] == pytest.approx(15.0)
        assert parts["score"] == pytest.approx(np.exp(-1 / 3))
        assert (parts["target_peak"], parts["peak"]) == pytest.approx((-60.0, -30.0))

    def test_only_the_first_frame_is_aligned(self, there_and_back: Profile, rng: np.random.Generator) -> None:
        target, made = (from_yaw_pitch_roll(there_and_back(peak)) for peak in (-60.0, -40.0))
        elsewhere = np.eye(4)
        elsewhere[:3, :3], elsewhere[:3, 3] = Rotation.random(rng=rng).as_matrix(), [1.0, 2.0, 3.0]
        assert cam_prec(target, elsewhere @ made, "yaw_LR") == pytest.approx(cam_prec(target, made, "yaw_LR"))

    def test_translation_is_scale_free_and_its_shape_counts(self, there_and_back: Profile) -> None:
        """A pan target: twice the size costs nothing; a path at right angles to it has s = 0, so trans = 1 and the score is 1/e."""
        x = there_and_back(1.0) / 1.0
        along, across = (from_yaw_pitch_roll(np.zeros(81), position=np.outer(x, axis)) for axis in ([1, 0, 0], [0.02, 1, 0]))
        double = from_yaw_pitch_roll(np.zeros(81), position=np.outer(2 * x, [1, 0, 0]))
        assert cam_prec(along, double, "pan_RL") == pytest.approx(1.0, abs=1e-6)
        assert cam_prec(along, across, "pan_RL") == pytest.approx(np.exp(-1.0), abs=1e-3)

    def test_a_pan_the_wrong_way_scores_zero(self, there_and_back: Profile) -> None:
        right, left = (from_yaw_pitch_roll(np.zeros(81), position=np.outer(s * there_and_back(1.0), [1, 0, 0])) for s in (1, -1))
        assert cam_prec(right, left, "pan_RL") == 0.0

    def test_a_path_the_opposite_way_is_not_turned_round_to_fit(self) -> None:
        """The scale of <t,p> / <p,p> would be -1; it ends at 0, and RMS(t) / RMS(t) is left."""
        yaw = np.linspace(0, 40, 9)
        target, made = (from_yaw_pitch_roll(yaw, position=np.outer(sign * np.arange(9), [0.1, 0, 0])) for sign in (1, -1))
        assert camera_precision(target, made, "yaw_RL")["translation"] == pytest.approx(1.0)

    def test_drift_on_a_pure_yaw_goes_unpunished_unless_corrected(self, there_and_back: Profile) -> None:
        target = from_yaw_pitch_roll(there_and_back(-60.0))
        drifting = from_yaw_pitch_roll(
            there_and_back(-60.0), position=np.outer(np.ones(81), [0.5, 0, 0]) * (np.arange(81) > 0)[:, None]
        )
        assert cam_prec(target, drifting, "yaw_LR") == pytest.approx(1.0)
        # the drift's RMS is 0.5 on 80 of 81 frames
        assert cam_prec(target, drifting, "yaw_LR", variant="corrected") == pytest.approx(np.exp(-0.5 * np.sqrt(80 / 81)))

    @pytest.mark.parametrize(("yaw", "shift", "expected"), [(1.9, 0.0, 1.0), (2.1, 0.0, 0.0), (0.0, 0.049, 1.0), (0.0, 0.051, 0.0)])
    def test_static_is_all_or_nothing(self, yaw: float, shift: float, expected: float) -> None:
        still = np.tile(np.eye(4), (9, 1, 1))
        moved = from_yaw_pitch_roll(np.linspace(0, yaw, 9), position=np.outer(np.linspace(0, shift, 9), [0, 0, 1]))
        assert cam_prec(still, moved, "static") == expected


class TestCamAlign:
    @pytest.mark.parametrize(
        ("peak", "request_name", "expected"),
        [
            (16.0, "yaw_RL", 0.5),
            (-16.0, "yaw_LR", 0.5),
            (30.0, "yaw_RL", 1.0),
            (-75.0, "yaw_LR", 1.0),
            (-16.0, "yaw_RL", 0.0),
            (1.9, "yaw_RL", 0.0),
        ],
    )
    def test_yaw_reference_vectors(self, there_and_back: Profile, peak: float, request_name: str, expected: float) -> None:
        assert cam_align(from_yaw_pitch_roll(there_and_back(peak)), request_name) == pytest.approx(expected)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("yaw", "shift", "expected"), [(0.0, 0.0, 1.0), (2.5, 0.0, 0.5), (0.0, 0.05, 0.5), (2.5, 0.08, 0.2), (9.0, 0.0, 0.0)]
    )
    def test_static_hold_takes_the_worse_of_turn_and_shift(self, yaw: float, shift: float, expected: float) -> None:
        poses = from_yaw_pitch_roll(np.linspace(0, yaw, 9), position=np.outer(np.linspace(0, shift, 9), [1, 0, 0]))
        assert cam_align(poses, "static") == pytest.approx(expected)
