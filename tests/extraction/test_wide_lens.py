"""The field of view from the motion of the picture: known turns of known lenses, with near things that slide on their own."""

from __future__ import annotations

import numpy as np
import pytest
from lookback.backends.pose.classical.rotation import focal_from_fov
from lookback.backends.pose.classical.wide import fov_by_motion
from lookback.camera.intent import compile, parse
from lookback.measures.camera_activity import predicted_motion

HEIGHT_OVER_WIDTH = 9 / 16


def turning(fov_deg: float, degrees: float = 120.0) -> np.ndarray:
    """(N,5,8,2) the motion of a picture whose camera turns to the right, by the pinhole model."""
    focal = focal_from_fov(fov_deg, 640)
    camera = np.array([[focal, 0, 319.5], [0, focal, 179.5], [0, 0, 1]])
    return predicted_motion(compile(parse(f"yaw:right:{degrees:g}@48")), camera, 5, 8)


@pytest.mark.parametrize("fov_deg", [40.0, 90.0, 105.0, 120.0])
def test_the_lens_is_found_although_near_things_slide_by(fov_deg: float) -> None:
    motion = turning(fov_deg)
    motion[:, 4] *= 1.6  # the ground in front of a camera that also moves aside
    motion += np.random.default_rng(3).normal(0, 2e-4, motion.shape)
    assert fov_by_motion(motion, HEIGHT_OVER_WIDTH) == pytest.approx(fov_deg, abs=5)


def test_nothing_is_said_where_the_usual_lens_explains_the_motion_or_nothing_turns() -> None:
    assert fov_by_motion(turning(60.0), HEIGHT_OVER_WIDTH) is None
    assert fov_by_motion(turning(100.0, degrees=3.0), HEIGHT_OVER_WIDTH) is None
