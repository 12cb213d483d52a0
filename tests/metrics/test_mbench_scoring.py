"""MBench's metrics of pixels on clips whose paths, matches and pictures are known by construction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import made_artifacts
import numpy as np
import pandas as pd
import pytest
from answered import answered
from lookback.artifacts import Artifact, Depth
from lookback.camera import compile, preset
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.clips import Clip
from lookback.errors import Reason
from lookback.registry import METRICS
from lookback.scoring.contract import Frames, Scored, ScoringClip

COUNT, HEIGHT, WIDTH = 9, 48, 64
K = np.array([[100.0, 0.0, 32.0], [0.0, 100.0, 24.0], [0.0, 0.0, 1.0]])
SAME_LENS = np.tile(K, (COUNT, 1, 1))
POINTS = np.random.default_rng(0).uniform([-2, -2, 4], [2, 2, 8], (30, 3))
BLACK = np.zeros((COUNT, HEIGHT, WIDTH, 3), np.uint8)

Points = Callable[[int], np.ndarray]  # the matched pixels (N,2) of a frame


def scored(
    name: str,
    artifacts: Sequence[Artifact],
    pictures: np.ndarray = BLACK,
    points: Points | None = None,
    variant: str = "paper",
    captions: tuple[str, ...] = (),
) -> Scored:
    """The result in setting A, or with captions in setting T."""
    entries = {artifact.role: artifact.pack() for artifact in artifacts}
    setting = "T" if captions else "A"
    names = {"benchmark": "mbench", "setting": setting, "model_id": "m", "clip_id": "c", "video": "v.mp4"}
    clip = Clip(**names, n_frames=len(pictures), width=WIDTH, height=HEIGHT, caption_segments=captions)
    spec = METRICS.get(f"mbench{setting.lower()}.{name}")
    settings = spec.preset(variant, {})
    context = ScoringClip(clip, variant, {}, pd.DataFrame(), entries.__getitem__, lambda role: None, settings=settings)
    if points is not None:
        frames = range(len(pictures))
        matched = {("matches", i, j, settings["match_ratio"]): (points(i), points(j)) for i in frames for j in frames}
        context.shared.update(matched)

    def frames_of(request: Frames) -> dict[int, np.ndarray]:
        return {int(frame): pictures[frame] for frame in request.indices}

    return answered(spec.score(context), frames_of)


def seen(c2w: np.ndarray, intrinsics: np.ndarray) -> Points:
    """Where each frame of the path shows `POINTS`."""

    def pixels(frame: int) -> np.ndarray:
        image = (POINTS - c2w[frame, :3, 3]) @ c2w[frame, :3, :3] @ intrinsics[frame].T
        return image[:, :2] / image[:, 2:]

    return pixels


def test_a_camera_that_only_turns_has_no_epipolar_lines_and_is_compared_by_its_rotation_where_the_variant_says_so():
    turns = made_artifacts.poses(compile(preset("yaw_LR", COUNT)), intrinsics=SAME_LENS)
    paper, corrected = (
        scored("environment.spatial_epipolar", [turns], points=seen(turns.c2w, SAME_LENS), variant=variant)
        for variant in ("paper", "corrected")
    )
    assert (paper.items[0].value, paper.items[0].reason) == (None, Reason.NO_PARALLAX)
    assert corrected.items[0].value == pytest.approx(1.0) and "camera only turned" in corrected.units[0].detail


def test_reprojection_takes_each_frame_with_its_own_focal_length():
    """The lens zooms by a tenth from frame to frame; the points stay where they are."""
    way_out_and_back = np.r_[0:5, 3.5:0:-1]
    c2w = from_yaw_pitch_roll(np.r_[0:5, 3:-1:-1] * 2.0, position=np.outer(way_out_and_back, [0.1, 0, 0]))
    zoom = np.array([np.diag([1 + n / 10, 1 + n / 10, 1]) @ K for n in range(COUNT)])
    found = scored("environment.spatial_reprojection", [made_artifacts.poses(c2w, intrinsics=zoom)], points=seen(c2w, zoom))
    assert found.items[0].value == pytest.approx(1.0, abs=1e-6)


def test_lighting_is_scored_on_fewer_pairs_than_segments():
    still = made_artifacts.poses(compile(preset("static", 3)))
    assert scored("environment.rendering_lighting", [still], BLACK[:3]).items[0].value == 1.0


def test_the_deviation_of_the_light_is_the_mean_over_the_segments():
    """Only the last frame is brighter: one of four segments deviates, so that the median would be 0."""
    still = made_artifacts.poses(compile(preset("static", COUNT)))
    pictures = np.full_like(BLACK, 100)
    pictures[-1] = 180
    found = scored("environment.rendering_lighting", [still], pictures)
    deviations = [unit.raw for unit in found.units]
    assert sum(deviation > 1 for deviation in deviations) == 1
    assert found.items[0].raw == pytest.approx(np.mean(deviations))


def test_lighting_groups_its_pairs_by_time_and_not_by_how_well_the_camera_returns():
    """Frame 8 returns a thousandth of a degree less well than the others, so that its pairs rank last."""
    path = made_artifacts.poses(from_yaw_pitch_roll(np.r_[0:5, 4:-1:-1] * 5.0 + np.eye(10)[8] / 1000))
    found = scored(
        "environment.rendering_lighting", [path], np.zeros((10, HEIGHT, WIDTH, 3), np.uint8), captions=("a", "b", "c", "d")
    )
    frames = [(unit.frame, unit.frame_other) for unit in found.units]
    assert frames == sorted(frames) and found.units[0].detail == "2 frames a side" and frames[0] == (0, 9)


def test_metrics_of_frame_pairs_say_that_they_need_captions_in_setting_t():
    paired = ("environment.rendering_lighting", "environment.spatial_epipolar", "entity.object_geometry_consistency")
    for name in paired:
        assert "caption_segments" in METRICS.get(f"mbencht.{name}").needs
        assert "caption_segments" not in METRICS.get(f"mbencha.{name}").needs


@pytest.mark.parametrize(("metric", "how"), [(False, "no depth: warped by a homography"), (True, "warped by depth")])
def test_only_metric_depth_warps_an_object(metric: bool, how: str):
    path = made_artifacts.poses(compile(preset("yaw_LR", COUNT)), intrinsics=SAME_LENS)
    shown = np.zeros((COUNT, HEIGHT, WIDTH), bool)
    shown[:, 10:40, 10:50] = True
    depth = Depth(frame_index=np.arange(COUNT), depth=np.ones((COUNT, HEIGHT, WIDTH), np.float32), metric=metric)
    corners = np.random.default_rng(2).uniform(0, HEIGHT, (30, 2))
    given = [path, made_artifacts.masks(shown), depth]
    found = scored("entity.object_geometry_consistency", given, points=lambda frame: corners)
    assert found.units[0].detail.startswith(how)
