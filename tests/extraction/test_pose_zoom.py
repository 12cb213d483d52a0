"""A zoom and a move ahead: without parallax they look alike, and no positions are said; with parallax the move is known."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
import skimage.data
from extraction_scenes import render
from lookback.artifacts import PoseTrack
from lookback.camera import from_yaw_pitch_roll, relative_to_first
from lookback.camera.intent import parse
from lookback.demo.clip import render_clip
from lookback.demo.spec import ClipSpec

EstimatePose = Callable[..., PoseTrack]
N = 17
EVENLY = "the picture grows or shrinks evenly: a zoom or a move toward something flat; these look alike, so no positions"


def zoomed(ratio: float, yaw: float = 0.0) -> np.ndarray:
    """A lens of 60 degrees whose focal length grows to `ratio`, in the ray-cast room."""
    fields = 2 * np.degrees(np.arctan(np.tan(np.radians(30)) / ratio ** np.linspace(0, 1, N)))
    poses = from_yaw_pitch_roll(np.linspace(0, yaw, N))
    return np.concatenate([render(poses[[k]], fov_deg=field, seed=k).frames for k, field in enumerate(fields)])


def cropped(still: np.ndarray, ratio: float) -> np.ndarray:
    """A photograph cropped about its middle and resized, frame by frame."""
    height, width = still.shape[:2]
    whole = min(width / 320, height / 192) * min(1.0, ratio)
    frames = []
    for scale in whole / ratio ** np.linspace(0, 1, N):
        corner = np.array([width - 320 * scale, height - 192 * scale]) / 2
        crop = np.array([[scale, 0, corner[0]], [0, scale, corner[1]]])
        frames.append(cv2.warpAffine(still, crop, (320, 192), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP))
    return np.array(frames)


@pytest.mark.parametrize(
    "frames",
    [
        lambda: zoomed(1.5),
        lambda: zoomed(0.7),
        lambda: zoomed(1.4, yaw=12),
        lambda: zoomed(0.75, yaw=-10),
        lambda: cropped(skimage.data.coffee(), 1.4),
        lambda: cropped(skimage.data.rocket(), 0.7),
    ],
    ids=["in", "out", "in and to the right", "out and to the left", "in on a still", "out on a still"],
)
@pytest.mark.parametrize("fov", [60.0, None])
def test_a_zoom_gives_no_positions(estimate_pose: EstimatePose, frames: Callable[[], np.ndarray], fov: float | None) -> None:
    pose = estimate_pose(frames(), fov_deg=fov)
    assert not pose.has_translation.any() and not pose.c2w[:, :3, 3].any()
    assert EVENLY in pose.notes


@pytest.mark.parametrize(
    ("scene", "camera"),
    [
        ("kitchen", "dolly:forward:0.3"),
        ("gallery", "dolly:forward:1.0"),
        ("garage", "dolly:forward:0.6"),
        ("plaza", "dolly:back:0.5"),
        ("courtyard", "dolly:forward:0.6+yaw:right:8"),
    ],
)
def test_a_move_through_depth_keeps_its_positions(estimate_pose: EstimatePose, scene: str, camera: str) -> None:
    clip = render_clip(ClipSpec(scene=scene, camera=parse(f"{camera}@{N}")))
    pose = estimate_pose(clip.frames)
    assert pose.has_translation.all() and EVENLY not in pose.notes and not any("zoom" in note for note in pose.notes)
    found, true = (relative_to_first(c2w)[-1, :3, 3] for c2w in (pose.c2w, clip.c2w))
    assert found @ true > 0.98 * np.linalg.norm(found) * np.linalg.norm(true)


def test_a_move_that_ends_in_front_of_a_wall_stays_a_move(estimate_pose: EstimatePose) -> None:
    clip = render_clip(ClipSpec(scene="bar", camera=parse("dolly:forward:1.0@33")))
    pose = estimate_pose(clip.frames)
    assert pose.has_translation.all() and EVENLY not in pose.notes


def test_a_move_toward_a_flat_wall_looks_like_a_zoom(estimate_pose: EstimatePose) -> None:
    ahead = from_yaw_pitch_roll(np.zeros(N))
    ahead[:, 2, 3] = np.linspace(0, 0.8, N)
    pose = estimate_pose(render(ahead).frames)
    assert not pose.has_translation.any() and EVENLY in pose.notes


def test_a_still_camera_and_one_that_turns_are_no_zoom(estimate_pose: EstimatePose) -> None:
    for yaw in (0.0, 20.0):
        pose = estimate_pose(render(from_yaw_pitch_roll(np.linspace(0, yaw, N))).frames)
        assert not pose.has_translation.any() and EVENLY not in pose.notes
